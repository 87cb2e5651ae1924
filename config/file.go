package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds a configuration file. The parser's search for duplicates is
// quadratic in the number of keys: a file of this size takes 0.3 s at worst, one
// of 1 MiB would take minutes.
const maxFile = 64 << 10

// Content returns the content of the configuration file at path, with the same
// checks as [Load]. The error is an [*Error].
func Content(path string) ([]byte, error) {
	data, _, err := readFile(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		err = &Error{Source: Source{From: File, Name: path}, Text: "is not there"}
	}
	return data, err
}

// readFile returns the content and the mode of the file at path. With trusted,
// it refuses a file that every user of the machine can write. The error is
// [fs.ErrNotExist] for a file that does not exist, and an [*Error] otherwise.
func readFile(path string, trusted bool) ([]byte, fs.FileMode, error) {
	wrong := func(text, hint string) error {
		return &Error{Source: Source{From: File, Name: path}, Text: text, Hint: hint}
	}
	info, err := os.Stat(path) // before it is opened: opening a pipe would wait
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, 0, fs.ErrNotExist
	case err != nil:
		return nil, 0, wrong("cannot be read: "+cause(err), "")
	case info.IsDir():
		return nil, 0, wrong("is a directory", "name a TOML file")
	case !info.Mode().IsRegular():
		return nil, 0, wrong("is not a regular file", "name a TOML file")
	case info.Size() > maxFile:
		return nil, 0, wrong(fmt.Sprintf("has %d bytes, and a configuration has at most %d", info.Size(), maxFile), "")
	case trusted && runtime.GOOS != "windows" && info.Mode()&0o002 != 0:
		return nil, 0, wrong("can be written by every user of this machine, and so is not read", "chmod o-w "+path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, wrong("cannot be read: "+cause(err), "")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, 0, wrong("cannot be read: "+cause(err), "")
	case len(data) > maxFile:
		return nil, 0, wrong(fmt.Sprintf("has more than %d bytes", maxFile), "")
	}
	return data, info.Mode(), nil
}

// cause returns the text of err without the path, which the [Error] shows.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// A document is a parsed TOML file: its values, and its tables and keys in their
// order.
type document struct {
	root   map[string]any
	tables []spot
	leaves []spot
}

// A spot is a table or a key, and its line. Paths end at maxDepth, which is
// deeper than any key of the schema.
type spot struct {
	path  []string
	line  int
	array bool // a table that is [[doubled]]
}

const maxDepth = 5

// parse reads a TOML document. An error is an [*Error] with a line.
func parse(name string, data []byte) (*document, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return nil, &Error{Source: Source{From: File, Name: name}, Text: "is written in UTF-16", Hint: "save it as UTF-8"}
	}
	doc := document{root: map[string]any{}}
	if err := toml.Unmarshal(data, &doc.root); err != nil {
		return nil, syntaxError(name, data, err)
	}
	doc.locate(data)
	return &doc, nil
}

// syntaxError returns the error of a text that is no TOML, with its line.
func syntaxError(name string, data []byte, err error) error {
	e := &Error{Source: Source{From: File, Name: name}, Text: "is no TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.Source.Line, _ = at.Position()
	}
	if strings.Contains(e.Text, "at start of value") {
		e.Hint = `text is written in quotes: key = "text"`
	}
	return e
}

// locate finds the tables and keys of data, which is valid TOML, and their lines.
func (d *document) locate(data []byte) {
	lines := lineIndex(data)
	var p unstable.Parser
	p.Reset(data)
	var table []string
	inArray := false
	for p.NextExpression() {
		e := p.Expression()
		path, line := names(e.Key()), lines.of(e.Key())
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, inArray = path, e.Kind == unstable.ArrayTable
			d.tables = append(d.tables, spot{path, line, inArray})
		case unstable.KeyValue:
			if !inArray {
				d.leaf(lines, table, e)
			}
		}
	}
}

// leaf adds the key of e below table; or, if its value is an inline table, that
// table and its keys.
func (d *document) leaf(lines lineStarts, table []string, e *unstable.Node) {
	path := joined(table, names(e.Key()))
	if v := e.Value(); v.Kind == unstable.InlineTable && len(path) < maxDepth {
		d.tables = append(d.tables, spot{path: path, line: lines.of(e.Key())})
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				d.leaf(lines, path, it.Node())
			}
		}
		return
	}
	d.leaves = append(d.leaves, spot{path: path, line: lines.of(e.Key())})
}

// names returns the parts of a key, cut at maxDepth.
func names(it unstable.Iterator) []string {
	var path []string
	for it.Next() && len(path) < maxDepth {
		path = append(path, string(it.Node().Data))
	}
	return path
}

// joined returns the path of b below a, cut at maxDepth.
func joined(a, b []string) []string {
	path := slices.Concat(a, b)
	return path[:min(len(path), maxDepth)]
}

// value returns the value at path; nil if there is none.
func (d *document) value(path []string) any {
	var v any = d.root
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// lineStarts holds the offset of the first byte of each line.
type lineStarts []int

// lineIndex returns the line starts of data.
func lineIndex(data []byte) lineStarts {
	starts := lineStarts{0}
	for i, b := range data {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// of returns the line on which a key begins.
func (s lineStarts) of(it unstable.Iterator) int {
	if !it.Next() {
		return 0
	}
	return s.at(int(it.Node().Raw.Offset))
}

// at returns the line of an offset, from 1.
func (s lineStarts) at(offset int) int {
	i, found := slices.BinarySearch(s, offset)
	if found {
		i++
	}
	return i
}
