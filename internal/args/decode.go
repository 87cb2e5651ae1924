package args

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Decode reads the arguments of a call into v, a pointer to a struct, as strictly
// as they were checked: a member belongs to the field of exactly its name, and none
// is there twice. The package encoding/json also takes "Path" for "path", and
// the last of two; so a tool could act on a path that no rule about paths has seen.
// A field without a tag is also called by its name in lower case. Members that
// belong to no field are ignored.
func Decode(input string, v any) error {
	if err := exact([]byte(input), reflect.TypeOf(v)); err != nil {
		return err
	}
	return json.Unmarshal([]byte(input), v)
}

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

// exact returns an error if the names of objects in a JSON value do not fit the
// type t exactly. It does not report invalid JSON or values of another shape.
func exact(data []byte, t reflect.Type) error {
	for t.Kind() == reflect.Pointer && !t.Implements(decodesItself) {
		t = t.Elem()
	}
	if t.Implements(decodesItself) || reflect.PointerTo(t).Implements(decodesItself) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		var list []json.RawMessage
		if t.Elem().Kind() == reflect.Uint8 || json.Unmarshal(data, &list) != nil {
			return nil
		}
		for _, e := range list {
			if err := exact(e, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Struct:
		members, _ := object(string(data))
		if err := unique(members); err != nil {
			return err
		}
		for _, m := range members {
			f, found := field(t, m.name)
			if !found {
				continue
			}
			if name := nameOf(f); name != m.name && !(f.Tag.Get("json") == "" && strings.ToLower(name) == m.name) {
				return fmt.Errorf("the argument %q is spelled %q", m.name, name)
			}
			if err := exact(m.raw, f.Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// unique returns an error if two members have the same name, but for its case.
func unique(members []member) error {
	for i, m := range members {
		for _, before := range members[:i] {
			if strings.EqualFold(before.name, m.name) {
				return fmt.Errorf("the argument %q is there twice: give it once", m.name)
			}
		}
	}
	return nil
}

// field returns the field that encoding/json would decode the member called name
// into.
func field(t reflect.Type, name string) (f reflect.StructField, found bool) {
	for _, other := range reflect.VisibleFields(t) {
		switch n := nameOf(other); {
		case n == name:
			return other, true
		case strings.EqualFold(n, name):
			f, found = other, true
		}
	}
	return f, found
}

// nameOf returns the name that a field has in JSON, or "".
func nameOf(f reflect.StructField) string {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported(), tag == "-", f.Anonymous && tag == "":
		return ""
	case tag != "":
		return tag
	}
	return f.Name
}
