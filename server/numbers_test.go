package server

import (
	"encoding/json"
	"testing"
)

func TestWholeNumbers(t *testing.T) {
	for in, want := range map[string]string{
		`{"a": 268.0, "b": [-3.50, 1e3, 1E+2, 0.0, -0.0]}`: `{"a": 268, "b": [-3.50, 1000, 100, 0, -0]}`,
		`"3.0 \" 4.0"`:                  `"3.0 \" 4.0"`,
		`[1e300, 9007199254740993, 12]`: `[1e300, 9007199254740993, 12]`,
		`"\\"`:                          `"\\"`,
		`true`:                          `true`,
	} {
		if got := string(wholeNumbers([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	var to struct{ At int64 }
	if err := jsonFormat().Unmarshal([]byte(`{"at": 7.0}`), &to); err != nil || to.At != 7 {
		t.Error(to, err)
	}
	if err := jsonFormat().Unmarshal([]byte(`{"at": 7.5}`), &to); err == nil {
		t.Error("7.5 is no integer")
	}
}

// Whatever is read stays the same value, and broken JSON does no harm.
func FuzzWholeNumbers(f *testing.F) {
	for _, s := range []string{`{"a":1.0}`, `"\`, `-`, `[1e5,"x\"1.0"]`, `1e999`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		out := wholeNumbers(data)
		var before, after any
		if json.Unmarshal(data, &before) != nil {
			return
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%q became %q: %v", data, out, err)
		}
		a, errA := json.Marshal(before)
		b, errB := json.Marshal(after)
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Fatalf("%q is %s, and became %s", data, a, b)
		}
	})
}
