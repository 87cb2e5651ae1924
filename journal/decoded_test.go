package journal

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// A copy of a body is what decoding it yields, whatever is in it.
func TestDecodedIsWhatDecodingYields(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	copied := make(map[string]int)
	for _, of := range openmanus.BodyTypes() {
		name, zero := of.Name, of.Zero
		for range 2000 {
			v := reflect.New(reflect.TypeOf(zero)).Elem()
			fill(r, v)
			b := v.Interface().(openmanus.Body)
			data, err := openmanus.EncodeBody(b)
			if err != nil {
				continue // such as a RawMessage that is no JSON
			}
			got, ok := decoded(b, data)
			if !ok {
				continue
			}
			copied[name]++
			want, err := openmanus.DecodeBody(name, b.Key(), data)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: a copy of %#v\nis %#v,\ndecoding yields %#v, %v", name, b, got, want, err)
			}
		}
	}
	for _, name := range []string{"model_said", "ruled", "call_started", "call_done"} {
		if copied[name] == 0 {
			t.Errorf("no %s was copied", name)
		}
	}
}

func TestDecodedSharesNothing(t *testing.T) {
	parts := llm.Parts{llm.Text{Text: "a"}, llm.Call{ID: "c", Name: "look", Input: "{}"}}
	said := openmanus.ModelSaid{Message: llm.Message{Role: llm.Assistant, Parts: parts}}
	data, err := openmanus.EncodeBody(said)
	if err != nil {
		t.Fatal(err)
	}
	same, ok := decoded(said, data)
	parts[0] = llm.Text{Text: "b"}
	if !ok || same.(openmanus.ModelSaid).Message.Text() != "a" {
		t.Errorf("%v, %v", same, ok)
	}
	done := openmanus.CallDone{Call: "c", Sources: []openmanus.Source{{From: "file:a"}}}
	if data, err = openmanus.EncodeBody(done); err != nil {
		t.Fatal(err)
	}
	same, ok = decoded(done, data)
	done.Sources[0].From = "file:b"
	if !ok || same.(openmanus.CallDone).Sources[0].From != "file:a" {
		t.Errorf("%v, %v", same, ok)
	}
}

// fill sets v, and everything in it, to values of which some are lost or changed by
// an encoding.
func fill(r *rand.Rand, v reflect.Value) {
	if r.IntN(3) == 0 {
		return
	}
	switch v.Interface().(type) {
	case llm.Parts:
		parts := make(llm.Parts, r.IntN(3))
		for i := range parts {
			p := reflect.New(reflect.TypeOf([]llm.Part{llm.Text{}, llm.Thinking{}, llm.Call{}, llm.Blob{}, llm.Result{}}[r.IntN(5)])).Elem()
			fill(r, p)
			parts[i] = p.Interface().(llm.Part)
		}
		v.Set(reflect.ValueOf(parts))
		return
	case json.RawMessage:
		v.SetBytes([]byte([]string{"", "null", `{"a": 1}`, `{"a":1}`, `"<"`}[r.IntN(5)]))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "x", "<&> é 😀", "\xff", "�", `\ufffd`, "a\u2028b\x00"}[r.IntN(7)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(r.Int64N(9) - 2)
	case reflect.Float64:
		v.SetFloat(r.Float64())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(r, v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(3), 3))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		for i := range r.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(r, e)
			m.SetMapIndex(reflect.ValueOf(fmt.Sprint(i)).Convert(v.Type().Key()), e)
		}
		v.Set(m)
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	default:
		panic(fmt.Sprintf("fill: %s", v.Type()))
	}
}
