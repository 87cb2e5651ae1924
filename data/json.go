package data

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// readJSON reads an array of objects or of arrays, an object of such an array
// or of columns, or one object a line.
func readJSON(ctx context.Context, data []byte, o Options) (*Table, error) {
	text, note, err := decode(data)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(&live{ctx, bytes.NewReader(text)})
	dec.UseNumber()
	r := jsonRows{cells: cells{max: o.MaxCells}, index: make(map[string]int)}
	if err := r.read(dec, o.Table); err != nil {
		return nil, err
	}
	t, err := r.table(ctx)
	if err == nil && note != "" {
		t.Notes = append(t.Notes, note)
	}
	return t, err
}

type jsonRows struct {
	cells
	index map[string]int
}

var errNoRows = errors.New("the JSON has no table: an array of objects, an object of columns, or an object a line")

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
		return r.object(dec, key)
	}
	return errNoRows
}

// array reads rows until the array ends.
func (r *jsonRows) array(dec *json.Decoder) error {
	for dec.More() {
		row, err := value(dec, 0)
		if err != nil {
			return err
		}
		full, err := r.row(row)
		if full || err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// object reads the members of the first object: then it is one of many lines,
// or has the rows in a member, or has columns.
func (r *jsonRows) object(dec *json.Decoder, key string) error {
	var first members
	if err := first.read(dec, 0); err != nil {
		return err
	}
	if next, err := value(dec, 0); err == nil { // one object a line
		for _, v := range []any{first, next} {
			if full, err := r.row(v); full || err != nil {
				return err
			}
		}
		for {
			v, err := value(dec, 0)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if full, err := r.row(v); full || err != nil {
				return err
			}
		}
	} else if err != io.EOF {
		return err
	}
	return r.member(first, key)
}

// member takes the rows out of one object.
func (r *jsonRows) member(m members, key string) error {
	lists := 0
	for _, f := range m {
		list, ok := f.value.([]any)
		if !ok {
			continue
		}
		lists++
		if key != "" && f.name != key || len(list) == 0 {
			continue
		}
		if _, ok := list[0].(members); ok {
			for _, v := range list {
				if full, err := r.row(v); full || err != nil {
					return err
				}
			}
			return nil
		}
	}
	if key != "" {
		return fmt.Errorf("the JSON has no array of objects %q", key)
	}
	if lists > 0 && lists == len(m) {
		return r.byColumn(m)
	}
	_, err := r.row(m)
	return err
}

func (r *jsonRows) byColumn(m members) error {
	rows := 0
	for _, f := range m {
		rows = max(rows, len(f.value.([]any)))
		r.widen(f.name)
	}
	for i := range rows {
		row := make([]string, len(m))
		for j, f := range m {
			if list := f.value.([]any); i < len(list) {
				row[j] = cell(list[i])
			}
		}
		if !r.add(row) {
			break
		}
	}
	return nil
}

// row adds a row; full says that no more fit.
func (r *jsonRows) row(v any) (full bool, err error) {
	switch v := v.(type) {
	case members:
		row := make([]string, len(r.names))
		for _, f := range v {
			i, ok := r.index[f.name]
			if !ok {
				if len(r.names) >= 10_000 {
					return true, errors.New("the objects have more than 10,000 different names")
				}
				i = len(r.names)
				r.index[f.name] = i
				r.widen(f.name)
				row = append(row, "")
			}
			row[i] = cell(f.value)
		}
		return !r.add(row), nil
	case []any:
		row := make([]string, len(v))
		for i, x := range v {
			row[i] = cell(x)
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
	return !r.add([]string{cell(v)}), nil
}

// cell is a value as text: what is nested stays JSON.
func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// members are those of an object, in their order.
type members []struct {
	name  string
	value any
}

// MarshalJSON writes the object with its order.
func (m members) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range m {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), v...)
	}
	return append(b, '}'), nil
}

const maxDepth = 100

// read reads the members after the opening brace.
func (m *members) read(dec *json.Decoder, depth int) error {
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		v, err := value(dec, depth+1)
		if err != nil {
			return err
		}
		*m = append(*m, struct {
			name  string
			value any
		}{fmt.Sprint(name), v})
	}
	_, err := dec.Token()
	return err
}

func value(dec *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the JSON is nested more than %d deep", maxDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		m := members{}
		err := m.read(dec, depth)
		return m, err
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := value(dec, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	}
	return tok, nil
}
