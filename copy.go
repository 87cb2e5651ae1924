package openmanus

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Fork copies the events of a session up to seq (0: all of them), with their
// numbers and times, into a new session, and interrupts that: nothing open
// runs twice. A Resumed or UserSaid lets the copy go on. The journal must be a
// [Restorer].
func Fork(ctx context.Context, j Journal, from string, seq int64, to string) error {
	r, ok := j.(Restorer)
	if !ok {
		return fmt.Errorf("fork: the journal (%T) cannot take over events", j)
	}
	var events []Event
	for ev, err := range j.Events(ctx, from, 0) {
		if err != nil {
			return err
		}
		if seq > 0 && ev.Seq > seq {
			break
		}
		events = append(events, ev)
	}
	switch last := int64(len(events)); {
	case last == 0:
		return fmt.Errorf("session %q: %w", from, ErrNoSession)
	case seq < 0 || seq > last:
		return fmt.Errorf("session %s has no event %d: its last is %d", from, seq, last)
	}
	if err := r.Restore(ctx, to, comeFrom(events, from)); err != nil {
		return fmt.Errorf("fork to %s: %w", to, err)
	}
	_, err := j.Append(ctx, to, Interrupted{ID: "fork"})
	return err
}

// comeFrom returns events with the origin in the first one.
func comeFrom(events []Event, session string) []Event {
	events = slices.Clone(events)
	if o, ok := events[0].Body.(Opened); ok {
		o.From = &Origin{session, events[len(events)-1].Seq}
		events[0].Body = o
	}
	return events
}

// The lines of an exported session that are not events.
type (
	exportHead struct {
		Kind    string    `json:"openmanus"` // "session"
		Version int       `json:"version"`
		Session string    `json:"session"`
		Time    time.Time `json:"exported"`
	}
	exportBlob struct {
		Blob Ref    `json:"blob"`
		Data []byte `json:"data"`
	}
	exportEnd struct {
		End   bool `json:"end"`
		Lines int  `json:"lines"` // before this one
	}
)

// Export writes a session as one readable text file, in JSON Lines: a head,
// its events, the blobs that they speak of, and an end that counts the lines,
// so that a file that was cut off is noticed. See docs/events.md.
func Export(ctx context.Context, j Journal, blobs Blobs, session string, w io.Writer) error {
	out := bufio.NewWriter(w)
	lines := 0
	put := func(v any) error {
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		lines++
		_, err = out.Write(append(data, '\n'))
		return err
	}
	if err := put(exportHead{"session", FormatVersion, session, Now()}); err != nil {
		return err
	}
	var refs []Ref
	for ev, err := range j.Events(ctx, session, 0) {
		if err == nil {
			err = put(ev)
		}
		if err != nil {
			return fmt.Errorf("export %s: %w", session, err)
		}
		if stored, err := (Codec{}).Encode(ctx, ev.Body); err == nil {
			refs = append(refs, stored.Refs()...)
		}
	}
	if lines == 1 {
		return fmt.Errorf("session %q: %w", session, ErrNoSession)
	}
	slices.Sort(refs)
	for _, ref := range slices.Compact(refs) {
		data, err := ReadBlob(ctx, blobs, ref)
		if err != nil {
			continue // a text that looks like a reference, and is none
		}
		if err := put(exportBlob{ref, data}); err != nil {
			return err
		}
	}
	if err := put(exportEnd{true, lines}); err != nil {
		return err
	}
	return out.Flush()
}

// maxLine is the longest line that Import reads.
const maxLine = 512 << 20

// Import reads what [Export] wrote into a new session, or into none if
// anything is wrong with it; errors name the line. If to is "", the session
// gets the name it had. It returns the session's name. The journal must be a
// [Restorer].
func Import(ctx context.Context, j Journal, blobs Blobs, to string, r io.Reader) (string, error) {
	restorer, ok := j.(Restorer)
	if !ok {
		return "", fmt.Errorf("import: the journal (%T) cannot take over events", j)
	}
	in, err := readExport(r)
	if err != nil {
		return "", fmt.Errorf("import: %w", err)
	}
	if to == "" {
		to = in.head.Session
	}
	events := in.events
	if to != in.head.Session {
		events = comeFrom(events, in.head.Session)
	}
	for _, b := range in.blobs {
		if _, err := blobs.Put(ctx, b); err != nil {
			return "", fmt.Errorf("import: %w", err)
		}
	}
	if err := restorer.Restore(ctx, to, events); err != nil {
		return "", fmt.Errorf("import as %s: %w", to, err)
	}
	return to, nil
}

// An imported is what an exported session says.
type imported struct {
	head   exportHead
	events []Event
	blobs  [][]byte
	ended  bool
}

func readExport(r io.Reader) (*imported, error) {
	in := new(imported)
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, 64<<10), maxLine)
	n := 0
	for scan.Scan() {
		n++
		line := bytes.TrimSuffix(scan.Bytes(), []byte("\r"))
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if err := in.line(n, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	}
	switch {
	case n == 0:
		return nil, errors.New("the file is empty")
	case !in.ended:
		return nil, fmt.Errorf("line %d: the file ends before its end: it was cut off", n)
	}
	return in, nil
}

// line reads one line.
func (in *imported) line(n int, data []byte) error {
	var probe struct {
		Kind *string `json:"openmanus"`
		Blob *Ref    `json:"blob"`
		End  bool    `json:"end"`
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return fmt.Errorf("there is a NUL byte at %d: the file is damaged", i+1)
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return fmt.Errorf("it is not JSON: %w", err)
	}
	switch {
	case in.ended:
		return errors.New("something follows the end")
	case n == 1:
		return in.readHead(data, probe.Kind)
	case probe.Blob != nil:
		return in.readBlob(data)
	case probe.End:
		var end exportEnd
		if err := json.Unmarshal(data, &end); err != nil {
			return err
		}
		if end.Lines != n-1 {
			return fmt.Errorf("it should be line %d: lines are missing, or there are too many", end.Lines+1)
		}
		if len(in.events) == 0 {
			return errors.New("there are no events in the file")
		}
		in.ended = true
		return nil
	}
	var ev Event
	if err := json.Unmarshal(data, &ev); err != nil {
		return err
	}
	if want := int64(len(in.events)) + 1; ev.Seq != want {
		return fmt.Errorf("it is event %d where event %d should be", ev.Seq, want)
	}
	in.events = append(in.events, ev)
	return nil
}

func (in *imported) readHead(data []byte, kind *string) error {
	if kind == nil || *kind != "session" {
		return errors.New(`it is not an exported session: that begins with {"openmanus":"session",…`)
	}
	if err := json.Unmarshal(data, &in.head); err != nil {
		return err
	}
	if in.head.Version > FormatVersion {
		return fmt.Errorf("it is of format version %d; this program reads up to %d: use a newer one", in.head.Version, FormatVersion)
	}
	if strings.TrimSpace(in.head.Session) == "" {
		return errors.New("it names no session")
	}
	return nil
}

func (in *imported) readBlob(data []byte) error {
	var b exportBlob
	if err := json.Unmarshal(data, &b); err != nil {
		return err
	}
	if got := RefOf(b.Data); got != b.Blob {
		return fmt.Errorf("the content of the blob %s is another one (%s)", b.Blob, got)
	}
	in.blobs = append(in.blobs, b.Data)
	return nil
}
