package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
)

type outputInput struct {
	Ref     string `json:"ref"`
	Offset  int    `json:"offset"`
	Limit   int    `json:"limit"`
	Pattern string `json:"pattern"`
}

// NewReadOutput returns the read_output tool, which reads long results that are
// kept whole as blobs. Offsets and limits are in bytes; what is shown begins
// and ends between characters.
func NewReadOutput() openmanus.Tool {
	return openmanus.Func(
		specOf("read_output", openmanus.Hints{ReadOnly: true, Idempotent: true},
			openmanus.Argument{Name: "ref", Kind: openmanus.BlobArgument, Does: openmanus.Reads}),
		func(ctx context.Context, call openmanus.Call, in outputInput) (openmanus.Result, error) {
			text, err := readOutput(ctx, call.Blobs, in)
			if err != nil {
				return openmanus.Result{}, err
			}
			return openmanus.TextResult("%s", text), nil
		})
}

var refPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// readOutput returns the part of the blob that in asks for.
func readOutput(ctx context.Context, blobs openmanus.Blobs, in outputInput) (string, error) {
	if !refPattern.MatchString(in.Ref) {
		return "", fmt.Errorf("%s is not a ref: copy it from the marker of the shortened result, "+
			"sha256: and 64 hexadecimal digits", clip(in.Ref, 100))
	}
	data, err := openmanus.ReadBlob(ctx, blobs, openmanus.Ref(in.Ref))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no output %s: copy the ref from the marker of the shortened result",
			in.Ref)
	case err != nil:
		return "", fmt.Errorf("reading the output: %w", err)
	case in.Offset > len(data):
		return "", fmt.Errorf("the offset %d is beyond the end: the output has %d bytes", in.Offset,
			len(data))
	}
	if in.Limit == 0 {
		in.Limit = resultLimit
	}
	from := runeAt(data, in.Offset)
	if in.Pattern != "" {
		return grepOutput(data, from, in)
	}
	to := runeAt(data, min(from+in.Limit, len(data)))
	if to <= from && from < len(data) { // the limit is shorter than a character
		_, n := utf8.DecodeRune(data[from:])
		to = from + n
	}
	head := fmt.Sprintf("(bytes %d to %d of %d)\n", from, to, len(data))
	if to < len(data) {
		head = fmt.Sprintf("(bytes %d to %d of %d; offset %d shows the next ones)\n", from, to, len(data), to)
	}
	return head + printable(string(data[from:to])), nil
}

// runeAt returns the offset at or before i at which a character begins.
func runeAt(data []byte, i int) int {
	for n := 0; n < utf8.UTFMax-1 && i > 0 && i < len(data) && !utf8.RuneStart(data[i]); n++ {
		i--
	}
	return i
}

// grepOutput returns the lines from the offset from on that match the pattern,
// up to the limit.
func grepOutput(data []byte, from int, in outputInput) (string, error) {
	p, err := newLinePattern(in.Pattern, false, false)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	found := 0
	for start := from; start < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i
		}
		if p.re.Match(data[start:end]) {
			text := strings.TrimSuffix(string(data[start:end]), "\r")
			line := fmt.Sprintf("%d: %s\n", start, clip(printable(text), shownLine))
			if b.Len() > 0 && b.Len()+len(line) > in.Limit {
				fmt.Fprintf(&b, "(there is more; offset %d shows the next ones)\n", start)
				break
			}
			b.WriteString(line)
			found++
		}
		start = end + 1
	}
	if found == 0 {
		return fmt.Sprintf("No line matches, from byte %d to %d.", from, len(data)), nil
	}
	return b.String(), nil
}
