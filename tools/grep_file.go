package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

const (
	grepChunk   = 256 << 10 // bytes of a file that are read at once
	maxGrepLine = 16 << 20  // bytes that a line may have
	shownLine   = 300       // bytes of a line that are shown
)

// A fileSearch is the search of one file. It holds a chunk of the file in
// memory, or a whole line if that is longer.
type fileSearch struct {
	*grep
	name    string
	binary  bool
	err     error
	matches int // matching lines
	out     bytes.Buffer
	starts  []int // offset in out of each match, with the lines that lead to it

	buf  []byte // earlier lines that may be shown as context, then what is to be searched
	done int    // offset in buf of what is to be searched
	line int    // number of the line at done
	low  []byte // buf in lower case, if the pattern ignores case

	printed int // number of the last line in out
	after   int // how many lines after it are still to be shown
}

// file searches one file. It does not change g.
func (g *grep) file(ctx context.Context, name string) *fileSearch {
	s := &fileSearch{grep: g, name: name, line: 1}
	f, err := g.fsys.Open(name)
	if err != nil {
		s.err = err
		return s
	}
	defer f.Close()
	s.err = s.read(ctx, f)
	return s
}

// read searches the chunks of a file. It grows the buffer until that holds at
// least one line.
func (s *fileSearch) read(ctx context.Context, r io.Reader) error {
	buf, _ := s.bufs.Get().(*[]byte)
	if buf == nil {
		buf = new(make([]byte, s.chunk))
	}
	defer s.bufs.Put(buf)
	s.buf = (*buf)[:0]
	for first, eof := true, false; !eof && ctx.Err() == nil; first = false {
		if cap(s.buf) == len(s.buf) {
			if len(s.buf) >= maxGrepLine {
				return fmt.Errorf("line %d has more than %d bytes; the rest was not searched", s.line,
					maxGrepLine)
			}
			s.buf = append(make([]byte, 0, min(2*len(s.buf), maxGrepLine)), s.buf...)
		}
		n, err := io.ReadFull(r, s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		eof = err == io.EOF || err == io.ErrUnexpectedEOF
		switch {
		case err != nil && !eof:
			return err
		case first && isBinary(s.buf):
			s.binary = true
			return nil
		}
		end := bytes.LastIndexByte(s.buf, '\n') + 1
		if eof {
			end = len(s.buf)
		}
		if end <= s.done && !eof {
			continue
		}
		if s.search(end); s.sated() && s.after == 0 {
			return nil
		}
		s.forget(end)
	}
	return nil
}

// sated reports whether further matches do not matter.
func (s *fileSearch) sated() bool {
	switch s.in.Output {
	case "files":
		return s.matches > 0
	case "count":
		return false
	}
	return s.matches >= s.in.Limit
}

// search searches the lines of buf up to the offset end, and stops when the result has
// enough.
func (s *fileSearch) search(end int) {
	if s.pattern.fold {
		s.low = appendLower(s.low[:0], s.buf[:end])
	}
	shows := s.in.Output != "files" && s.in.Output != "count"
	for s.done < end && !s.sated() {
		from, to, at, ok := s.next(end)
		if !ok {
			break
		}
		s.matches++
		s.follow(from)
		if shows {
			s.starts = append(s.starts, s.out.Len())
			s.lead(from)
			s.show(':', s.buf[from:to], at-from)
			s.after = s.in.Context
		}
		s.line++
		s.done = min(to+1, end)
	}
	s.follow(end)
}

var newline = []byte("\n")

// next returns the next match before the offset end: the line from one offset
// to another, and where the match is in it.
func (s *fileSearch) next(end int) (from, to, at int, ok bool) {
	p := s.pattern
	for pos := s.done; pos < end; pos = to + 1 {
		if len(p.must) == 0 {
			loc := p.re.FindIndex(s.buf[pos:end])
			if loc == nil || pos+loc[0] == end && s.buf[end-1] == '\n' {
				return 0, 0, 0, false // behind the last line end there is no line
			}
			at = pos + loc[0]
			from, to = s.lineAround(at, end)
			return from, to, at, true
		}
		text := s.buf
		if p.fold {
			text = s.low
		}
		i := bytes.Index(text[pos:end], p.must)
		if i < 0 {
			return 0, 0, 0, false
		}
		from, to = s.lineAround(pos+i, end)
		if loc := p.re.FindIndex(s.buf[from:to]); loc != nil {
			return from, to, from + loc[0], true
		}
	}
	return 0, 0, 0, false
}

// lineAround returns the line in which offset at is, without its end.
func (s *fileSearch) lineAround(at, end int) (from, to int) {
	from = bytes.LastIndexByte(s.buf[:at], '\n') + 1
	if i := bytes.IndexByte(s.buf[at:end], '\n'); i >= 0 {
		return from, at + i
	}
	return from, end
}

// follow goes on to offset to, where a line begins, and shows the lines on the
// way that follow a match.
func (s *fileSearch) follow(to int) {
	for s.after > 0 && s.done < to {
		from, end := s.lineAround(s.done, to)
		s.show('-', s.buf[from:end], 0)
		s.after--
		s.done = min(end+1, to)
		s.line++
	}
	s.line += bytes.Count(s.buf[s.done:to], newline)
	s.done = to
}

// lead shows the context before the match at the offset from, as far as it was
// not shown.
func (s *fileSearch) lead(from int) {
	n := min(s.in.Context, s.line-s.printed-1)
	start := from
	for i := 0; i < n && start > 0; i++ {
		start = bytes.LastIndexByte(s.buf[:start-1], '\n') + 1
	}
	if s.in.Context > 0 && s.printed > 0 && s.line-bytes.Count(s.buf[start:from], newline) > s.printed+1 {
		s.out.WriteString("--\n")
	}
	s.line -= bytes.Count(s.buf[start:from], newline)
	for start < from {
		end := start + bytes.IndexByte(s.buf[start:], '\n')
		s.show('-', s.buf[start:end], 0)
		s.line++
		start = end + 1
	}
}

// show shows the line with the number s.line. If it is long, it shows the part
// around the offset at.
func (s *fileSearch) show(sep byte, line []byte, at int) {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if s.line == 1 {
		line = bytes.TrimPrefix(line, bom)
	}
	from := 0
	if len(line) > shownLine {
		from = max(0, min(at-shownLine/3, len(line)-shownLine))
	}
	to := min(from+shownLine, len(line))
	fmt.Fprintf(&s.out, "%s%c%d%c", printable(s.name), sep, s.line, sep)
	if from > 0 {
		s.out.WriteString("[...] ")
	}
	s.out.WriteString(printable(string(line[from:to])))
	if to < len(line) {
		fmt.Fprintf(&s.out, " [... the line has %d bytes]", len(line))
	}
	s.out.WriteByte('\n')
	s.printed = s.line
}

// forget drops what is before end from memory, except for lines that may be
// shown as context.
func (s *fileSearch) forget(end int) {
	keep := end
	for i := 0; i < s.in.Context && keep > 0; i++ {
		keep = bytes.LastIndexByte(s.buf[:keep-1], '\n') + 1
	}
	n := copy(s.buf[:cap(s.buf)], s.buf[keep:])
	s.buf, s.done = s.buf[:n], end-keep
}

// upTo returns the output of the first n matches, and how many these are.
func (s *fileSearch) upTo(n int) (string, int) {
	if n >= s.matches {
		return s.out.String(), s.matches
	}
	return string(s.out.Bytes()[:s.starts[n]]), n
}
