package data

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/openmanus-go/openmanus/internal/ctxio"
)

// readJSON reads a table in one of these forms: an array of objects, of arrays
// or of values; an object with such an array in a member; an object of
// columns; or one object per line.
func readJSON(ctx context.Context, data []byte, o Options) (*Table, error) {
	text, note, err := decode(data, o)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(ctxio.NewReader(ctx, bytes.NewReader(quoteNaN(text))))
	dec.UseNumber()
	r := jsonRows{cells: cells{max: o.MaxCells}, index: make(map[string]int)}
	if err := r.read(dec, o.Table); errors.Is(err, io.ErrUnexpectedEOF) && r.rows > 0 {
		note = join(note, fmt.Sprintf("the file is cut off in row %d, which is left out", r.rows+1))
	} else if err != nil {
		return nil, err
	}
	t, err := r.table(ctx)
	if err == nil && note != "" {
		t.Notes = append(t.Notes, note)
	}
	return t, err
}

// notJSON are values that JSON does not have, and that Python and others write.
var notJSON = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b`)

// quoteNaN makes texts of the values that JSON does not have, so that they can be read.
func quoteNaN(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	return notJSON.ReplaceAllFunc(text, func(v []byte) []byte {
		if v[0] == '"' {
			return v
		}
		return []byte(`"` + string(v) + `"`)
	})
}

// inside returns the error of a read within a value, where the end of the file is no good one.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// jsonRows collects rows of JSON. Each member of an object is a cell, in a
// column of its name.
type jsonRows struct {
	cells
	index map[string]int // of columns by name
}

// An object has its members in order. Their values are not decoded further.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// nextValue reads a value: an object, a []json.RawMessage, or a token.
func nextValue(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return nextObject(dec)
	case json.Delim('['):
		list := []json.RawMessage{}
		for dec.More() {
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				return nil, inside(err)
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, inside(err)
	}
	return tok, nil
}

// nextObject reads an object after its opening brace.
func nextObject(dec *json.Decoder) (o object, err error) {
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, inside(err)
		}
		m := member{name: fmt.Sprint(name)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, inside(err)
		}
		o = append(o, m)
	}
	_, err = dec.Token()
	return o, inside(err)
}

// read reads the whole file. key names the member that has the rows; "" takes
// the first that can.
func (r *jsonRows) read(dec *json.Decoder, key string) error {
	tok, err := dec.Token()
	if err == io.EOF {
		return errors.New("the file is empty")
	}
	if err != nil {
		return err
	}
	switch tok {
	case json.Delim('['):
		return r.array(dec)
	case json.Delim('{'):
		first, err := nextObject(dec)
		if err != nil {
			return err
		}
		second, err := nextValue(dec)
		switch {
		case err == io.EOF:
			return r.members(first, key)
		case err != nil:
			if _, rowErr := r.row(first); rowErr != nil {
				return rowErr
			}
			return err
		}
		return r.lines(dec, first, second)
	}
	return errors.New("the JSON has no table: an array of objects, an object of columns, or an object per line")
}

// array reads rows up to the end of an array whose beginning was read.
func (r *jsonRows) array(dec *json.Decoder) error {
	for dec.More() {
		v, err := nextValue(dec)
		if err != nil {
			return inside(err)
		}
		if full, err := r.row(v); full || err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return inside(err)
}

// lines adds two rows that were read, and those that follow.
func (r *jsonRows) lines(dec *json.Decoder, first, second any) error {
	if full, err := r.row(first); full || err != nil {
		return err
	}
	for v, err := second, error(nil); err != io.EOF; v, err = nextValue(dec) {
		if err != nil {
			return err
		}
		if full, err := r.row(v); full || err != nil {
			return err
		}
	}
	return nil
}

// members takes the rows out of the only object of a file: from the first
// member that is an array of objects, else from columns if all members are
// arrays, else the object is the only row.
func (r *jsonRows) members(o object, key string) error {
	lists := make([][]json.RawMessage, len(o))
	n := 0
	for i, m := range o {
		if m.value[0] != '[' || json.Unmarshal(m.value, &lists[i]) != nil {
			continue
		}
		n++
		if key != "" && m.name != key || len(lists[i]) == 0 || lists[i][0][0] != '{' {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(m.value))
		dec.UseNumber()
		return r.read(dec, "")
	}
	if key != "" {
		return fmt.Errorf("the JSON has no array of objects %q", key)
	}
	if n == 0 || n < len(o) {
		_, err := r.row(o)
		return err
	}
	rows := 0
	for i, m := range o {
		rows = max(rows, len(lists[i]))
		r.widen(m.name)
	}
	for i := range rows {
		row := make([]string, len(o))
		for j, list := range lists {
			if i < len(list) {
				row[j] = jsonCell(list[i])
			}
		}
		if !r.add(row) {
			break
		}
	}
	return nil
}

// maxNames is how many different names the members of rows may have.
const maxNames = 10_000

// row adds what nextValue returned as a row. It reports full when there is no
// room for more.
func (r *jsonRows) row(v any) (full bool, err error) {
	switch v := v.(type) {
	case object:
		row := make([]string, len(r.names))
		for _, m := range v {
			i, ok := r.index[m.name]
			if !ok {
				if len(r.names) >= maxNames {
					return true, fmt.Errorf("the objects have more than %d different names", maxNames)
				}
				i = len(r.names)
				r.index[m.name] = i
				r.widen(m.name)
				row = append(row, "")
			}
			row[i] = jsonCell(m.value)
		}
		return !r.add(row), nil
	case []json.RawMessage:
		row := make([]string, len(v))
		for i, x := range v {
			row[i] = jsonCell(x)
		}
		if r.rows == 0 && len(r.names) == 0 && !headless(row) {
			for _, n := range row {
				r.widen(n)
			}
			return false, nil
		}
		return !r.add(row), nil
	}
	if len(r.names) == 0 {
		r.widen("value")
	}
	text := "null"
	if v != nil {
		text = fmt.Sprint(v)
	}
	return !r.add([]string{text}), nil
}

// jsonCell writes a value as the text of a cell: as it stands in the file, but for the
// quotation marks and escapes of a string. A null is missing to whoever computes.
func jsonCell(v json.RawMessage) string {
	switch v[0] {
	case '"':
		var s string
		if err := json.Unmarshal(v, &s); err == nil {
			return s
		}
	case '{', '[':
		var b bytes.Buffer
		if err := json.Compact(&b, v); err == nil {
			return b.String()
		}
	}
	return string(v)
}
