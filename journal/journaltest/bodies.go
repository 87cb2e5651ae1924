package journaltest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// Bodies returns a session that has every type of body that is stored, with
// every field set, in an order in which it could have happened.
func Bodies() []openmanus.Body {
	var all []openmanus.Body
	f := new(filler)
	for _, t := range openmanus.BodyTypes() {
		if t.Zero.Key() == "" {
			continue
		}
		v := reflect.New(reflect.TypeOf(t.Zero)).Elem()
		f.fill("", v)
		all = append(all, v.Interface().(openmanus.Body))
		if v.FieldByName("Turn").IsValid() {
			f.turn++
		}
	}
	return all
}

// A filler sets fields: each number is another one, and each text is the name that the
// field has in JSON.
type filler struct {
	turn   int64 // of the next outcome
	last   int64
	within []reflect.Type // that are being filled
}

// fill sets v, which is in a field with this name.
func (f *filler) fill(name string, v reflect.Value) {
	switch to := v.Addr().Interface().(type) {
	case *llm.Parts:
		*to = everyPart()
		return
	case *json.RawMessage:
		*to = json.RawMessage(`{"type":"object"}`)
		return
	case *openmanus.Ref:
		*to = openmanus.RefOf([]byte("the whole output"))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if slices.Contains(f.within, v.Type()) {
			return // it has its own kind in it, as deep as it likes
		}
		f.within = append(f.within, v.Type())
		for field, v := range v.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			f.fill(name, v)
		}
		f.within = f.within[:len(f.within)-1]
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(name, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(name, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("link"), reflect.ValueOf(name))
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(name != "foreign") // the session is no import
	case reflect.Float64:
		v.SetFloat(0.5)
	default:
		f.last++
		v.SetInt(f.number(name))
	}
}

// number returns the number for a field.
func (f *filler) number(name string) int64 {
	switch name {
	case "turn":
		return f.turn
	case "version":
		return openmanus.FormatVersion
	}
	return f.last
}

// everyPart returns a part of each kind, with texts that encodings may change.
func everyPart() llm.Parts {
	opaque := json.RawMessage(`{"signature":"c2ln"}`)
	return llm.Parts{
		llm.Thinking{Text: "Let me look.", Opaque: opaque, By: "openai/gpt"},
		llm.Text{Text: "I will look <at> the file & \u2028", Opaque: opaque, By: "openai/gpt", View: true},
		llm.Blob{MIME: "image/png", Name: "sales.png", Data: []byte("\x89PNG\r\n\x1a\n\x00\xff"), View: true},
		llm.Call{ID: "c0-0", Name: "bash", Input: `{"command":"head <sales.csv && echo \"ok\""}`, Opaque: opaque, By: "openai/gpt"},
		llm.Call{ID: "c0-1", Name: "ask_human", Input: "{broken \xff"},
		llm.Result{ID: "inner", Parts: llm.Parts{llm.Text{Text: "x"}}, IsError: true},
		llm.Unknown{Raw: json.RawMessage(`{"type":"hologram","depth":3}`)},
	}
}
