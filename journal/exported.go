package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	stdhash "hash"
	"io"
	"time"

	"github.com/openmanus-go/openmanus"
)

// The lines of an export that are not events. See docs/events.md.
type (
	exportHead struct {
		Kind    string `json:"openmanus"` // "session"
		Version int    `json:"version"`
		Session string `json:"session"`
	}
	exportBlob struct {
		Blob    openmanus.Ref `json:"blob"`
		Data    []byte        `json:"data,omitempty"`
		Missing bool          `json:"missing,omitempty"` // it was missing where the session was exported
	}
	exportEnd struct {
		Kind   string `json:"openmanus"` // "end"
		Events int    `json:"events"`
		Blobs  int    `json:"blobs"`
		SHA256 string `json:"sha256,omitempty"` // of everything before this line
	}
)

// An exportLine is any line of an export: what tells its kind, and the fields of
// an event, as [openmanus.Event] has them in JSON.
type exportLine struct {
	Kind *string        `json:"openmanus"`
	Blob *openmanus.Ref `json:"blob"`

	Seq  *int64          `json:"seq"`
	Time time.Time       `json:"time"`
	Type string          `json:"type"`
	Key  string          `json:"key"`
	Body json.RawMessage `json:"body"`
}

// A digest is a SHA-256 hash that is being computed.
type digest struct{ stdhash.Hash }

func (d digest) String() string { return hex.EncodeToString(d.Sum(nil)) }

// maxLine is the longest line that Import reads, in bytes.
const maxLine = 512 << 20

// An Exported is a session that [Export] wrote, as it is in the file.
type Exported struct {
	Session string            // its id
	Events  []openmanus.Event // all of them, numbered from 1
	Blobs   [][]byte          // those that the events name

	keys  map[string]int64      // of each event, by key
	lines map[openmanus.Ref]int // of each blob
	ended bool
}

// ReadExport reads and checks an export. An error names the line. The file is
// checked as such: that someone wrote it with care is no reason to trust what it
// says.
func ReadExport(ctx context.Context, r io.Reader) (*Exported, error) {
	x, err := readExport(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	return x, nil
}

func readExport(ctx context.Context, r io.Reader) (*Exported, error) {
	x := &Exported{keys: make(map[string]int64), lines: make(map[openmanus.Ref]int)}
	in, sum := bufio.NewReaderSize(r, 64<<10), digest{sha256.New()}
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		line, err := readLine(in)
		switch {
		case err == io.EOF && n == 1:
			return nil, errors.New("line 1: the file is empty")
		case err == io.EOF && !x.ended:
			return nil, fmt.Errorf("line %d: the file ends with this line: it was cut off", n-1)
		case err == io.EOF:
			return x, nil
		case err == nil:
			err = x.line(n, line, sum)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		sum.Write(line)
		sum.Write([]byte{'\n'})
	}
}

// readLine returns the next line without its line end. The error is [io.EOF] if
// there is none.
func readLine(in *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("it is longer than %d bytes", maxLine)
		case err == nil:
			return line[:len(line)-1], nil
		case err == io.EOF && len(line) > 0:
			return nil, cmp.Or(intact(line), errors.New("the file ends in the middle of it: it was cut off"))
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}

// intact returns an error if a line has something that Export never writes.
func intact(line []byte) error {
	const changed = ": another program changed the file; get it again as it was written"
	switch {
	case bytes.HasPrefix(line, []byte("\ufeff")):
		return errors.New("it begins with a byte order mark" + changed)
	case bytes.HasSuffix(line, []byte("\r")):
		return errors.New("it ends with a carriage return" + changed)
	case bytes.IndexByte(line, 0) >= 0:
		return fmt.Errorf("there is a NUL at byte %d of it: the file is damaged", bytes.IndexByte(line, 0)+1)
	case bytes.Contains(line, []byte("\u2028")), bytes.Contains(line, []byte("\u2029")):
		return errors.New("it has a Unicode line or paragraph separator in it" + changed)
	case len(bytes.TrimSpace(line)) == 0:
		return errors.New("it is empty" + changed)
	}
	return nil
}

// line reads the n-th line. sum is the hash of the lines before.
func (x *Exported) line(n int, line []byte, sum digest) error {
	if err := intact(line); err != nil {
		return err
	}
	var l exportLine
	if err := decodeLine(line, &l); err != nil {
		return err
	}
	switch {
	case x.ended:
		return errors.New("something stands after the end")
	case n == 1:
		return x.head(line)
	case l.Kind != nil:
		return x.end(line, sum)
	case l.Blob != nil:
		return x.blob(n, line)
	case l.Seq != nil:
		return x.event(l)
	}
	return errors.New("it is neither an event nor a blob nor the end")
}

// decodeLine decodes a line that must be one JSON value.
func decodeLine(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("it is not JSON, or not as it should be: %w", err)
	}
	if rest := bytes.TrimSpace(line[dec.InputOffset():]); len(rest) > 0 {
		return fmt.Errorf("something follows its JSON value at byte %d: two lines were joined, or it is damaged", dec.InputOffset()+1)
	}
	return nil
}

// head reads the first line.
func (x *Exported) head(line []byte) error {
	var head exportHead
	if err := decodeLine(line, &head); err != nil {
		return err
	}
	switch {
	case head.Kind != "session":
		return errors.New(`it is not the head of an exported session, which begins with {"openmanus":"session"`)
	case head.Version > openmanus.FormatVersion:
		return tooNew(head.Version)
	case head.Version < 1:
		return fmt.Errorf("there is no version %d of the format", head.Version)
	case head.Session == "":
		return errors.New("it names no session")
	}
	x.Session = head.Session
	return nil
}

// tooNew returns the error for a file or session of a later version of the format.
func tooNew(version int) error {
	return fmt.Errorf("it is of version %d of the format, and this program reads up to %d: use a newer one", version, openmanus.FormatVersion)
}

// event reads an event and checks everything that a journal promises of it: its
// number, its key, that the key is unique, and that the first event opens the
// session.
func (x *Exported) event(l exportLine) error {
	b, err := openmanus.DecodeBody(l.Type, l.Key, l.Body)
	if err != nil {
		return fmt.Errorf("it is not JSON, or not as it should be: event %s: %w", l.Key, err)
	}
	ev, stored := openmanus.Event{Seq: *l.Seq, Time: l.Time, Body: b}, l.Key
	want := int64(len(x.Events)) + 1
	switch key := ev.Body.Key(); {
	case len(x.lines) > 0:
		return errors.New("an event stands after the blobs")
	case ev.Seq > want:
		return fmt.Errorf("event %d follows event %d: what was between is missing", ev.Seq, want-1)
	case ev.Seq < want:
		return fmt.Errorf("event %d follows event %d: it is there twice, or lines changed places", ev.Seq, want-1)
	case key == "" || openmanus.TypeName(ev.Body) == "":
		return errors.New("it is an event of a kind that is never stored")
	case key != stored:
		return fmt.Errorf("its key is %q, and that of its body %q: it is damaged", stored, key)
	case x.keys[key] > 0:
		return fmt.Errorf("its key %q is that of event %d", key, x.keys[key])
	case (ev.Seq == 1) != (key == openmanus.Opened{}.Key()):
		return errors.New("a session has one opened event, and it is the first")
	case ev.Time.IsZero():
		return errors.New("it has no time")
	}
	if o, ok := ev.Body.(openmanus.Opened); ok && o.Version > openmanus.FormatVersion {
		return tooNew(o.Version)
	}
	x.keys[stored] = ev.Seq
	x.Events = append(x.Events, ev)
	return nil
}

// blob reads a blob, and checks its content against its name.
func (x *Exported) blob(n int, line []byte) error {
	var b exportBlob
	if err := decodeLine(line, &b); err != nil {
		return err
	}
	switch {
	case len(x.Events) == 0:
		return errors.New("a blob stands before the events")
	case x.lines[b.Blob] > 0:
		return fmt.Errorf("the blob %s is there twice, here and in line %d", b.Blob, x.lines[b.Blob])
	case !b.Missing && openmanus.RefOf(b.Data) != b.Blob:
		return fmt.Errorf("its content is not that of the blob %s: it is damaged", b.Blob)
	}
	x.lines[b.Blob] = n
	if !b.Missing {
		x.Blobs = append(x.Blobs, b.Data)
	}
	return nil
}

// end reads the last line, and checks its counts and its checksum. sum is the hash
// of the lines before. A file without a checksum was changed on purpose, and is
// accepted.
func (x *Exported) end(line []byte, sum digest) error {
	var end exportEnd
	if err := decodeLine(line, &end); err != nil {
		return err
	}
	switch {
	case end.Kind != "end":
		return fmt.Errorf("it is a %q where an event, a blob or the end should be: are these two files in one?", end.Kind)
	case len(x.Events) == 0:
		return errors.New("there are no events in the file")
	case end.Events != len(x.Events) || end.Blobs != len(x.lines):
		return fmt.Errorf("it counts %d events and %d blobs, and there are %d and %d: lines are missing, or there are too many",
			end.Events, end.Blobs, len(x.Events), len(x.lines))
	case end.SHA256 != "" && end.SHA256 != sum.String():
		return errors.New(`the file is not as it was written: its checksum differs; if you changed it on purpose, take "sha256" out of this line`)
	}
	x.ended = true
	return nil
}
