package tools

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/llm"
)

// maxImage is how many bytes an image may have for providers to take it.
const maxImage = 3_750_000

// view carries out the command view. lines is the argument view_range.
func (e *editor) view(ctx context.Context, call openmanus.Call, t target, lines []int) (openmanus.Result, error) {
	var none openmanus.Result
	if t.info.IsDir() {
		if len(lines) > 0 {
			return none, refuse("The `view_range` parameter is not allowed when `path` points to a " +
				"directory.")
		}
		return e.viewDir(ctx, call, t)
	}
	f, err := e.ws.FS().Open(t.name)
	if err != nil {
		return none, fmt.Errorf("%s: %w", t.path, cause(err))
	}
	defer f.Close()
	sum := sha256.New()
	r := bufio.NewReaderSize(io.TeeReader(f, sum), 64<<10)
	head, err := r.Peek(8000)
	if err != nil && err != io.EOF {
		return none, fmt.Errorf("reading %s: %w", t.path, cause(err))
	}
	if isUTF16(head) {
		return none, fmt.Errorf("%s is in UTF-16: convert it to UTF-8 with a program, such as "+
			"iconv -f UTF-16 -t UTF-8", t.path)
	}
	var res openmanus.Result
	p := page{last: 1, total: 1} // an image is shown whole
	switch {
	case isBinary(head):
		res, err = viewBinary(r, t, http.DetectContentType(head), lines)
	case lines != nil && len(lines) != 2:
		err = refuse("Invalid `view_range`. It should be a list of two integers.")
	default:
		p = pageOf(call, lines)
		res, err = viewText(ctx, r, t, lines, &p)
	}
	if err != nil {
		return none, err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return none, fmt.Errorf("reading %s: %w", t.path, cause(err))
	}
	last := p.last
	if p.long > 0 {
		last = p.long - 1 // of that line not all was shown
	}
	sight.SawLines(ctx, t.name, hex.EncodeToString(sum.Sum(nil)), max(p.from, 1), last, max(p.total, 1))
	return res, nil
}

// viewBinary shows an image. For other files the error says what they are.
func viewBinary(r io.Reader, t target, mime string, lines []int) (openmanus.Result, error) {
	var none openmanus.Result
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	case "application/octet-stream":
		return none, fmt.Errorf("%s is not a text file; look at it with a program", t.path)
	default:
		return none, fmt.Errorf("%s is not a text file but %s; look at it with a program", t.path, mime)
	}
	switch {
	case len(lines) > 0:
		return none, fmt.Errorf("%s is an image and has no lines: leave out view_range", t.path)
	case t.info.Size() > maxImage:
		return none, fmt.Errorf("%s is an image of %d bytes, and at most %d can be shown; make a smaller "+
			"copy "+
			"and view that", t.path, t.info.Size(), maxImage)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxImage))
	if err != nil {
		return none, fmt.Errorf("reading %s: %w", t.path, cause(err))
	}
	res := openmanus.TextResult("The image %s (%s, %d bytes):", t.path, mime, len(data))
	res.Parts = append(res.Parts, llm.Blob{MIME: mime, Name: path.Base(t.name), Data: data})
	return res, nil
}

// pageOf returns the page that a call wants.
func pageOf(call openmanus.Call, lines []int) page {
	p := page{from: 1, to: -1, limit: call.ResultSize().Text, lineMax: lineLimit}
	if lines != nil {
		p.from, p.to = lines[0], lines[1]
	}
	if p.from == p.to {
		p.lineMax = p.limit
	}
	return p
}

// viewText shows lines of a text file.
func viewText(ctx context.Context, r *bufio.Reader, t target, lines []int, p *page) (openmanus.Result, error) {
	var none openmanus.Result
	from, to := p.from, p.to
	if err := p.read(ctx, r); err != nil {
		return none, fmt.Errorf("reading %s: %w", t.path, cause(err))
	}
	if lines != nil {
		if err := checkRange(from, to, p.total); err != nil {
			return none, err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Here's the result of running `cat -n` on %s:\n%s", t.path, p.text.String())
	if to == -1 {
		to = p.total
	}
	switch next := p.last + 1; {
	case p.total == 0:
		b.WriteString("(the file is empty)\n")
	case next <= to:
		fmt.Fprintf(&b, "(lines %d to %d of %d; view_range [%d, %d] shows the next ones)\n",
			from, p.last, p.total, next, min(to, next+p.last-from))
	}
	switch {
	case p.long > 0 && from == to:
		b.WriteString("(the line goes on: read the rest with a program)\n")
	case p.long > 0:
		fmt.Fprintf(&b, "(long lines are cut; view_range [%d, %d] shows more of line %d)\n", p.long, p.long, p.long)
	}
	if p.odd {
		b.WriteString("(bytes that are not UTF-8 are shown as \uFFFD)\n")
	}
	res := openmanus.TextResult("%s", b.String())
	res.Reading = true
	return res, nil
}

// checkRange refuses a view_range outside the lines of a file, in the words of
// OpenManus. to may be -1, the last line.
func checkRange(from, to, total int) error {
	switch r := pyList(from, to); {
	case from < 1 || from > total:
		return refuse("Invalid `view_range`: %s. Its first element `%d` should be within the range of "+
			"lines of the file: %s", r, from, pyList(1, total))
	case to > total:
		return refuse("Invalid `view_range`: %s. Its second element `%d` should be smaller than the number "+
			"of lines in the file: `%d`", r, to, total)
	case to != -1 && to < from:
		return refuse("Invalid `view_range`: %s. Its second element `%d` should be larger or equal than "+
			"its first `%d`", r, to, from)
	}
	return nil
}

// viewDir lists what is below a directory, up to 2 levels deep, without hidden files, as
// far as the result may be long.
func (e *editor) viewDir(ctx context.Context, call openmanus.Call, t target) (openmanus.Result, error) {
	var b strings.Builder
	left, limit := 0, call.ResultSize().Output*9/10
	add := func(line string) {
		if b.Len()+len(line) > limit {
			left++
			return
		}
		b.WriteString(printable(line) + "\n")
	}
	add(t.path)
	err := fs.WalkDir(e.ws.FS(), t.name, func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name == t.name {
			return err
		}
		below := strings.TrimPrefix(strings.TrimPrefix(name, t.name), "/")
		shown := strings.TrimRight(t.path, "/") + "/" + below
		switch {
		case err != nil:
			add(shown + "/ (" + cause(err).Error() + ")")
			return fs.SkipDir
		case strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(d.Name(), "."):
			return nil
		case !d.IsDir():
			add(shown)
			return nil
		}
		add(shown + "/")
		if strings.Contains(below, "/") {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return openmanus.Result{}, fmt.Errorf("listing %s: %w", t.path, cause(err))
	}
	if left > 0 {
		fmt.Fprintf(&b, "(and %d more; view one of the directories, or use glob)\n", left)
	}
	return openmanus.TextResult("Here's the files and directories up to 2 levels deep in %s, "+
		"excluding hidden items:\n%s", t.path, b.String()), nil
}
