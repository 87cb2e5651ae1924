package tools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
)

type outputInput struct {
	Ref     string `json:"ref"`
	Offset  int    `json:"offset"`
	Limit   int    `json:"limit"`
	Pattern string `json:"pattern"`
}

// ReadOutputName is the name of the tool that reads long results.
const ReadOutputName = "read_output"

// NewReadOutput returns the read_output tool, which reads long results that are
// kept whole as blobs. Offsets and limits are in bytes; what is shown begins
// and ends between characters.
func NewReadOutput() openmanus.Tool {
	return openmanus.Func(
		specOf(ReadOutputName, openmanus.Hints{ReadOnly: true, Idempotent: true},
			openmanus.Argument{Name: "ref", Kind: openmanus.BlobArgument, Does: openmanus.Reads}),
		func(ctx context.Context, call openmanus.Call, in outputInput) (openmanus.Result, error) {
			text, err := readOutput(ctx, call, in)
			if err != nil {
				return openmanus.Result{}, err
			}
			res := openmanus.TextResult("%s", text)
			res.Reading = true
			return res, nil
		})
}

// readOutput returns the part of the blob that in asks for.
func readOutput(ctx context.Context, call openmanus.Call, in outputInput) (string, error) {
	ref, err := findOutput(ctx, call, in.Ref)
	if err != nil {
		return "", err
	}
	data, err := openmanus.ReadBlob(ctx, call.Blobs, ref)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", noOutput(call, in.Ref)
	case err != nil:
		return "", fmt.Errorf("reading the output: %w", err)
	case in.Offset > len(data):
		return "", fmt.Errorf("the offset %d is beyond the end: the output has %d bytes", in.Offset,
			len(data))
	}
	size := call.ResultSize().Text
	in.Limit = min(cmp.Or(in.Limit, size*3/4), size)
	from := runeAt(data, in.Offset)
	if in.Pattern != "" {
		return grepOutput(data, from, in)
	}
	to := from + clip.Page(string(data[from:min(len(data), from+in.Limit+utf8.UTFMax)]), in.Limit)
	head := fmt.Sprintf("(bytes %d to %d of %d)\n", from, to, len(data))
	if to < len(data) {
		head = fmt.Sprintf("(bytes %d to %d of %d; offset %d shows the next ones)\n", from, to, len(data), to)
	}
	return head + printable(string(data[from:to])), nil
}

// findOutput returns the output that the model calls by a short ref or a whole one. Only
// outputs that the session knows are found.
func findOutput(ctx context.Context, call openmanus.Call, name string) (openmanus.Ref, error) {
	found := openmanus.FindRef(call.Refs, name)
	if blobs, ok := call.Blobs.(openmanus.BlobFinder); ok && len(found) == 0 {
		var err error
		if found, err = blobs.FindBlobs(ctx, name); err != nil {
			return "", fmt.Errorf("reading the output: %w", err)
		}
	}
	switch len(found) {
	case 0:
		return "", noOutput(call, name)
	case 1:
		return found[0], nil
	}
	var long []string
	for _, r := range found {
		long = append(long, openmanus.ShortRef(found, r))
	}
	return "", fmt.Errorf("the ref %s could be %s: write more of it", cut(name, 100), strings.Join(long, " or "))
}

// noOutput is the error for a ref that names nothing. It names the last refs of the
// session.
func noOutput(call openmanus.Call, name string) error {
	const most = 8
	if len(call.Refs) == 0 {
		return fmt.Errorf("there is no output %s: no result of this session was shortened", cut(name, 100))
	}
	var refs []string
	for _, r := range call.Refs[max(0, len(call.Refs)-most):] {
		refs = append(refs, openmanus.ShortRef(call.Refs, r))
	}
	return fmt.Errorf("there is no output %s. The last ones are %s: the marker in a shortened result has its ref",
		cut(name, 100), strings.Join(refs, ", "))
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
			line := fmt.Sprintf("%d: %s\n", start, cut(printable(text), shownLine))
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
