package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Each kind takes some values of TOML and some texts, and says what it allows
// of others. A text and a value of TOML that mean the same are the same.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		kind string
		v    any
		want any    // nil: it is refused
		text string // as listings show it
	}{
		{"text", "a b", "a b", "a b"},
		{"text", "a\nb", nil, ""},
		{"lines", "a\n\tb", "a\n\tb", "a\n\tb"},
		{"lines", "a\x1bb", nil, ""},
		{"text", int64(1), nil, ""},
		{"origin", "https://example.org", "https://example.org", "https://example.org"},
		{"origin", "http://[::1]:8420/", "http://[::1]:8420", "http://[::1]:8420/"},
		{"origin", "example.org", nil, ""},
		{"origin", "https://example.org/manus", nil, ""},
		{"origin", "https://me:secret@example.org", nil, ""},
		{"origin", "ftp://example.org", nil, ""},
		{"thoughts", "auto", "auto", "auto"},
		{"thoughts", "none", "none", "none"},
		{"thoughts", "reasoning_content", "reasoning_content", "reasoning_content"},
		{"thoughts", "content", nil, ""},
		{"thoughts", "a field", nil, ""},
		{"thoughts", true, nil, ""},
		{"secret", " sk-x ", "sk-x", "sk-x"},
		{"secret", "sk x", nil, ""},
		{"count", int64(7), 7, "7"},
		{"count", "7", 7, "7"},
		{"count", int64(0), nil, ""},
		{"count", "7.5", nil, ""},
		{"count", 7.5, nil, ""},
		{"count", "9999999999999999999", nil, ""},
		{"natural", int64(0), 0, "0"},
		{"natural", int64(-1), nil, ""},
		{"limit", int64(-1), -1, "-1"},
		{"limit", int64(0), nil, ""},
		{"limit", "-2", nil, ""},
		{"percent", int64(95), 95, "95"},
		{"percent", int64(96), nil, ""},
		{"bool", true, true, "true"},
		{"bool", "On", true, "On"},
		{"bool", "0", false, "0"},
		{"bool", "maybe", nil, ""},
		{"bool", int64(1), nil, ""},
		{"list", []any{"a", "b,c"}, []string{"a", "b,c"}, `["a","b,c"]`},
		{"list", "a, b,", []string{"a", "b"}, "a, b,"},
		{"list", `["a"]`, []string{"a"}, `["a"]`},
		{"list", "[", nil, ""},
		{"list", []any{"a", int64(1)}, nil, ""},
		{"toolchains", "auto", []string{"auto"}, "auto"},
		{"toolchains", []any{"/opt/a", "~/b"}, []string{"/opt/a", "~/b"}, `["/opt/a","~/b"]`},
		{"toolchains", []any{"a"}, nil, ""},
		{"toolchains", []any{"auto", "none"}, nil, ""},
		{"toolchains", "off", nil, ""},
		{"toolchains", true, nil, ""},
		{"dollars", 2.5, openmanus.Money(2_500_000_000), "2.5"},
		{"dollars", int64(3), openmanus.Money(3_000_000_000), "3"},
		{"dollars", "-1", openmanus.Money(-1), "-1"},
		{"dollars", "0", nil, ""},
		{"dollars", "1e3", nil, ""},
		{"price", "0.125", openmanus.Money(125), "0.125"},
		{"price", "0.0001", nil, ""},
		{"size", "512m", int64(512 << 20), "512m"},
		{"size", "4GB", int64(4 << 30), "4GB"},
		{"size", int64(1 << 20), int64(1 << 20), "1048576"},
		{"size", "1k", nil, ""},
		{"size", "9999999t", nil, ""},
		{"duration", "90s", 90 * time.Second, "90s"},
		{"duration", "90", 90 * time.Second, "90"},
		{"duration", int64(90), 90 * time.Second, "90s"},
		{"duration", "-1", time.Duration(-1), "-1"},
		{"duration", "1ms", nil, ""},
		{"duration", 1.5, nil, ""},
		{"one of a, b", "b", "b", "b"},
		{"one of a, b", "c", nil, ""},
	} {
		k, err := kindOf(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if k.fits(c.v) || reflect.TypeOf(c.v).Kind() == reflect.String { // a variable holds any text
			got, _ = k.parse(c.v)
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v is %#v, want %#v", c.kind, c.v, got, c.want)
		}
		if text := k.text(c.v); c.want != nil && text != c.text {
			t.Errorf("%s: %#v is listed as %q, want %q", c.kind, c.v, text, c.text)
		}
	}
}

// A workspace may tighten a limit, and -1, no limit, is the widest.
func TestNarrow(t *testing.T) {
	for _, c := range []struct {
		kind    string
		v, than any
		want    bool
	}{
		{"limit", 5, 10, true}, {"limit", 10, 10, true}, {"limit", 11, 10, false},
		{"limit", 5, -1, true}, {"limit", -1, 5, false}, {"limit", -1, -1, true},
		{"duration", time.Minute, time.Hour, true}, {"duration", time.Duration(-1), time.Hour, false},
		{"dollars", openmanus.Money(1), openmanus.Money(2), true}, {"dollars", openmanus.Money(3), openmanus.Money(2), false},
		{"one of none, hosts, allow", "none", "allow", true}, {"one of none, hosts, allow", "allow", "hosts", false},
	} {
		k, err := kindOf(c.kind)
		if err != nil {
			t.Fatal(err)
		}
		if got := k.narrow(c.v, c.than); got != c.want {
			t.Errorf("%s: %v allows no more than %v: %v", c.kind, c.v, c.than, got)
		}
	}
}

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		s         string
		digits    int
		n         int64
		whole, ok bool
	}{
		{"1.25", 3, 1250, true, true}, {"1.2500", 2, 125, true, true}, {"1.255", 2, 0, false, true}, {"7", 9, 7e9, true, true},
		{"0.000000001", 9, 1, true, true}, {"-1", 3, 0, false, false}, {"1.", 3, 0, false, false}, {".5", 3, 0, false, false}, {"", 3, 0, false, false},
	} {
		if n, whole, ok := fixed(c.s, c.digits); n != c.n || whole != c.whole || ok != c.ok {
			t.Errorf("%q with %d digits: %d, %v, %v", c.s, c.digits, n, whole, ok)
		}
	}
}

// A mistake in keys.txt is found, with its line.
func TestMistakesInTheTableOfKeys(t *testing.T) {
	for table, want := range map[string]string{
		"model | text | Run.Model\n":                      "line 1 stands before the first section",
		"[run]\nmodel | text\n":                           "line 2: ",
		"[run]\n\n# a comment\nmodel | texts | Run.Model": "line 4: there is no kind \"texts\"",
		"[run]\nmodel | text | Run.Model | defualt=x":     `line 2: run.model: there is no attribute "defualt"`,
	} {
		if _, err := parseKeys(table); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", table, err, want)
		}
	}
	all, err := parseKeys("[llm]\n    The model.\nmodel | text | LLM.Model | default={steps} | env=X | workspace=free\n    A\n    b.\n[llm.*]\n    A profile.\nlike llm\n")
	if err != nil || len(all) != 2 || len(all[1].keys) != 1 {
		t.Fatal(all, err)
	}
	k, like := all[0].keys[0], all[1].keys[0]
	if k.std != fmt.Sprint(openmanus.DefaultLimits().Steps) || k.doc != "A b." || all[0].doc != "The model." {
		t.Errorf("%+v", k)
	}
	if like.name != "llm.*.model" || like.field != "Profiles.Model" || like.env != "" || like.workspace != refused {
		t.Errorf("%+v", like)
	}
}

func TestVariableNames(t *testing.T) {
	for name, want := range map[string]string{
		"run.max_steps": "OPENMANUS_RUN_MAX_STEPS", "llm.fast.api_key": "OPENMANUS_LLM_FAST_API_KEY",
		"daytona.VNC_password": "OPENMANUS_DAYTONA_VNC_PASSWORD", "models.openai/gpt-5.window": "OPENMANUS_MODELS_OPENAI_GPT_5_WINDOW",
	} {
		if got := variable(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
