package journal

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// decoded returns what decoding data, the encoding of b without secrets and blobs,
// returns. ok is false if that takes decoding it. Most bodies come back as they
// were, and a copy of them takes a hundredth of the time.
//
// That is certain of a body that consists of strings, numbers, booleans, nils,
// slices of structs of these, and [llm.Parts], if all strings are UTF-8 and no slice
// is empty but not nil. The copy shares nothing with b that can change.
func decoded(b openmanus.Body, data []byte) (same openmanus.Body, ok bool) {
	if bytes.Contains(data, []byte(`\ufffd`)) { // what the encoder writes in place of other bytes
		return nil, false
	}
	v := reflect.ValueOf(b)
	f := fieldsOf(v.Type())
	if !f.simple {
		return nil, false
	}
	for _, i := range f.nilable {
		if !v.FieldByIndex(i).IsNil() {
			return nil, false
		}
	}
	if len(f.parts) == 0 && len(f.slices) == 0 {
		return b, true
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for _, i := range f.slices {
		list := v.FieldByIndex(i)
		if list.IsNil() {
			continue
		}
		if !flat(list) {
			return nil, false
		}
		out.FieldByIndex(i).Set(reflect.AppendSlice(reflect.MakeSlice(list.Type(), 0, list.Len()), list))
	}
	for _, i := range f.parts {
		parts := v.FieldByIndex(i).Interface().(llm.Parts)
		if len(parts) == 0 && parts != nil || slices.ContainsFunc(parts, changes) {
			return nil, false
		}
		out.FieldByIndex(i).Set(reflect.ValueOf(slices.Clone(parts)))
	}
	return out.Interface().(openmanus.Body), true
}

// flat reports whether a slice has elements, and a copy of it shares nothing with it.
func flat(list reflect.Value) bool {
	f := fieldsOf(list.Type().Elem())
	if list.Len() == 0 || !f.simple || len(f.parts) > 0 {
		return false
	}
	for n := range list.Len() {
		for _, i := range slices.Concat(f.nilable, f.slices) {
			if !list.Index(n).FieldByIndex(i).IsNil() {
				return false
			}
		}
	}
	return true
}

// changes reports whether decoding a part may return another one, or one that
// shares bytes with it.
func changes(p llm.Part) bool {
	switch p := p.(type) {
	case llm.Text:
		return p.Opaque != nil
	case llm.Thinking:
		return p.Opaque != nil
	case llm.Call:
		return p.Opaque != nil || p.Ran != ""
	}
	return true
}

// bodyFields are the fields of a type of body or of an element of a slice, as
// [reflect.Value.FieldByIndex] takes them, those of nested structs included.
type bodyFields struct {
	simple  bool    // every other field is a string, a number or a boolean
	nilable [][]int // maps, pointers, interfaces and [json.RawMessage]
	slices  [][]int // of other types
	parts   [][]int // of the type [llm.Parts]
}

var fieldsByType sync.Map // reflect.Type → *bodyFields

// fieldsOf returns the fields of a type. If the type is no struct, the only one
// has the index nil.
func fieldsOf(t reflect.Type) *bodyFields {
	if f, ok := fieldsByType.Load(t); ok {
		return f.(*bodyFields)
	}
	f := &bodyFields{simple: true}
	f.add(t, nil)
	fieldsByType.Store(t, f)
	return f
}

// add adds the fields of t, which is at the index at of the body.
func (f *bodyFields) add(t reflect.Type, at []int) {
	switch {
	case t == reflect.TypeFor[llm.Parts]():
		f.parts = append(f.parts, at)
		return
	case t == reflect.TypeFor[json.RawMessage]():
		f.nilable = append(f.nilable, at)
		return
	case encodesItself(t):
		f.simple = false
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		f.slices = append(f.slices, at)
	case reflect.Map, reflect.Pointer, reflect.Interface:
		f.nilable = append(f.nilable, at)
	case reflect.Struct:
		for i := range t.NumField() {
			sub := t.Field(i)
			if sub.Anonymous || !sub.IsExported() || sub.Tag.Get("json") == "-" {
				f.simple = false
				return
			}
			f.add(sub.Type, append(slices.Clip(at), i))
		}
	case reflect.Array, reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		f.simple = false
	}
}

// encodesItself reports whether t has an encoding of its own.
func encodesItself(t reflect.Type) bool {
	for _, own := range []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
		reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	} {
		if t.Implements(own) || reflect.PointerTo(t).Implements(own) {
			return true
		}
	}
	return false
}
