// Package records tells records from prose in what services answer.
//
// A service that is asked for a contact, a channel or a file answers with records:
// names, numbers and addresses, each the value of a field. The text of a message
// or a page, which people write, is prose. Someone who can write prose can say
// anything in it; that a value stands alone in a field is something that the
// service says.
package records

import (
	"fmt"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// A Record is a group of values that belong together: those of the fields of an
// object, and of the lists among them. An element of a list that is no object is a
// record of its own.
type Record []Field

// A Field is a value with the name of its field; "" if it is such a name itself, or an
// element of a list. Prose stands in a record, too.
type Field struct {
	Name, Value string
	Prose       bool
}

func (f Field) String() string { return f.Name + "=" + f.Value }

const (
	maxText  = 1 << 20 // bytes of text that are looked at
	maxValue = 100     // bytes of a value that is no prose
	maxWords = 6       // words of a value that is no prose
	maxDepth = 32
)

// Read returns the records in a text, which may be JSON, YAML or the literals of
// Python, and everything else in it as prose. A text in another form, or one that is
// too large, is prose.
func Read(text string) (list []Record, prose string) {
	var n yaml.Node
	if len(text) > maxText || yaml.Unmarshal([]byte(text), &n) != nil || len(n.Content) != 1 ||
		n.Content[0].Kind == yaml.ScalarNode {
		return nil, text
	}
	var r reader
	r.node(n.Content[0], "", nil, 0)
	return r.list, strings.Join(r.prose, "\n")
}

type reader struct {
	list  []Record
	prose []string
}

// node reads n, the value of a field of the record rec; nil: of none.
func (r *reader) node(n *yaml.Node, name string, rec *Record, depth int) {
	if depth > maxDepth {
		r.prose = append(r.prose, fmt.Sprint(n.Value))
		return
	}
	switch n.Kind {
	case yaml.ScalarNode:
		r.value(Field{Name: name, Value: n.Value}, rec)
	case yaml.SequenceNode:
		for _, e := range n.Content {
			if rec != nil && e.Kind == yaml.ScalarNode {
				r.node(e, name, rec, depth+1)
				continue
			}
			r.node(e, "", nil, depth+1)
		}
	case yaml.MappingNode:
		own := rec
		if own == nil {
			own = new(Record)
			defer func() { r.list = append(r.list, *own) }()
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if isName(key) {
				r.value(Field{Value: key}, own)
			}
			r.node(n.Content[i+1], key, own, depth+1)
		}
	}
}

// value adds a value to a record, or to the prose.
func (r *reader) value(f Field, rec *Record) {
	v := strings.TrimSpace(f.Value)
	f.Value = v
	switch {
	case v == "":
	case len(v) > maxValue || strings.ContainsAny(v, "\n\r") || len(strings.Fields(v)) > maxWords:
		r.prose = append(r.prose, v)
		if rec != nil {
			*rec = append(*rec, Field{f.Name, v, true})
		}
	case rec == nil:
		r.list = append(r.list, Record{f})
	default:
		*rec = append(*rec, f)
	}
}

// isName reports whether the key of a field is data rather than the name of a field
// in a program.
func isName(key string) bool {
	return strings.ContainsFunc(key, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsSpace(r) || r == '@' })
}
