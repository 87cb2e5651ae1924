package lawtest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// forms are the ways in which a secret is found.
func forms(secret string) map[string]string {
	b64 := base64.StdEncoding
	return map[string]string{
		"raw":             secret,
		"base64":          b64.EncodeToString([]byte(secret)),
		"base64, shift 1": b64.EncodeToString([]byte("a" + secret + "bc")),
		"base64, shift 2": b64.EncodeToString([]byte("ab" + secret + "c")),
		"URL-encoded":     url.QueryEscape(secret),
		"JSON-escaped":    strings.Trim(fmt.Sprintf("%q", secret), `"`),
	}
}

// A secret is found wherever its text is cut in two, or in all its letters.
func TestRedactorFindsWhatIsCut(t *testing.T) {
	const secret = `s3cr&t "value" 1`
	s := journal.NewSecrets(map[string]string{"KEY": secret})
	for name, form := range forms(secret) {
		text := "before " + form + " after"
		want := s.Replace(text)
		if want == text {
			t.Fatalf("%s: not found in one piece", name)
		}
		for cut := range len(text) {
			r := s.Redactor()
			if got := r.Next(text[:cut]) + r.Next(text[cut:]) + r.Rest(); got != want {
				t.Errorf("%s, cut at %d: %q, want %q", name, cut, got, want)
			}
		}
		r, got := s.Redactor(), ""
		for i := range len(text) {
			got += r.Next(text[i : i+1])
		}
		if got += r.Rest(); got != want {
			t.Errorf("%s, by the letter: %q, want %q", name, got, want)
		}
	}
}

// Text that begins like a secret and is none is shown, late but whole; text
// that cannot begin one is shown at once.
func TestRedactorHoldsBackNoMoreThanItMust(t *testing.T) {
	s := journal.NewSecrets(map[string]string{"KEY": "hunter2-hunter2"})
	r := s.Redactor()
	for _, c := range [][2]string{{"a hunt", "a "}, {"er", ""}, {" is here", "hunter is here"}, {" hunter2-", " "}, {"!", "hunter2-!"}} {
		if got := r.Next(c[0]); got != c[1] {
			t.Errorf("%q shows %q, want %q", c[0], got, c[1])
		}
	}
	if got := r.Rest(); got != "" {
		t.Errorf("at the end %q", got)
	}
	r = s.Redactor()
	if got := r.Next("hunter2-h") + r.Rest(); got != "hunter2-h" {
		t.Errorf("half a secret at the end: %q", got)
	}
}

// If two secrets begin alike, the one that is there is named.
func TestRedactorOfSecretsThatBeginAlike(t *testing.T) {
	s := journal.NewSecrets(map[string]string{"SHORT": "token-12345", "LONG": "token-12345-67890"})
	for text, want := range map[string]string{
		"token-12345-67890":   "[[secret:LONG]]",
		"token-12345-678":     "[[secret:SHORT]]-678",
		"token-12345":         "[[secret:SHORT]]",
		"xtoken-token-12345y": "xtoken-[[secret:SHORT]]y",
	} {
		r, got := s.Redactor(), ""
		for _, c := range []byte(text) {
			got += r.Next(string(c))
		}
		if got += r.Rest(); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// However a text is cut, no secret comes through, and what is none stays.
func FuzzRedactor(f *testing.F) {
	f.Add("my hunter2-hunter2 is", uint8(5), "aHVudGVyMi1odW50ZXIy")
	f.Add("hunter2-hunter2-hunter2", uint8(1), "")
	s := journal.NewSecrets(map[string]string{"A": "hunter2-hunter2", "B": "2-hunter", "C": "\xff\x00secret\""})
	f.Fuzz(func(t *testing.T, text string, n uint8, more string) {
		whole := text + more
		r, got := s.Redactor(), ""
		size := int(n)%16 + 1
		for rest := whole; rest != ""; {
			k := min(size, len(rest))
			got += r.Next(rest[:k])
			rest = rest[k:]
		}
		got += r.Rest()
		if s.Replace(whole) == whole && got != whole {
			t.Errorf("%q became %q", whole, got)
		}
		left := strings.NewReplacer("[[secret:A]]", "\x01", "[[secret:B]]", "\x01", "[[secret:C]]", "\x01").Replace(got)
		if s.Replace(left) != left {
			t.Errorf("%q became %q", whole, got)
		}
	})
}

// A token that is given later is a secret from then on.
func TestSecretThatIsAdded(t *testing.T) {
	var s journal.Secrets
	s.Add("OAUTH", "first-token")
	s.Add("OAUTH", "second-token")
	if got := s.Replace("first-token second-token"); got != "first-token [[secret:OAUTH]]" {
		t.Error(got)
	}
}

func TestSecretsWriter(t *testing.T) {
	var b bytes.Buffer
	w := journal.NewSecrets(map[string]string{"KEY": "hunter2-hunter2"}).Writer(&b)
	if n, err := fmt.Fprint(w, "key: hunter2-hunter2\n"); n != 21 || err != nil || b.String() != "key: [[secret:KEY]]\n" {
		t.Errorf("wrote %d, %v: %q", n, err, b.String())
	}
}

// A placeholder is one in whatever letters it is written.
func TestPlaceholderInEscapedJSON(t *testing.T) {
	for input, want := range map[string]string{
		`{"a": "x [[secret:KEY]] y"}`:            "[[secret:KEY]]",
		`{"a": "\u005b[secret:KEY]\u005d"}`:      "[[secret:KEY]]",
		`{"a": ["b", {"c": "\u005b\u005b"}]}`:    "",
		`{"a": {"b": "[[\u0073ecret:KEY]]"}}`:    "[[secret:KEY]]",
		`not JSON at all: \u005b[secret:KEY]] x`: "",
	} {
		if got := journal.Placeholder(input); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

// mumbler is a model that says a secret in pieces, in words, in thoughts and
// in the arguments of a call.
type mumbler struct{ secret string }

func (m mumbler) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if len(req.Messages) > 1 {
			yield(llm.Delta{Piece: llm.Text{Text: "done"}, Stop: llm.End}, nil)
			return
		}
		say := func(d llm.Delta) bool { return yield(d, nil) }
		for i := 0; i < len(m.secret); i += 3 {
			piece := m.secret[i:min(i+3, len(m.secret))]
			if !say(llm.Delta{Part: 0, Piece: llm.Thinking{Text: piece}}) {
				return
			}
		}
		for i := 0; i < len(m.secret); i += 3 {
			if !say(llm.Delta{Part: 1, Piece: llm.Text{Text: m.secret[i:min(i+3, len(m.secret))]}}) {
				return
			}
		}
		say(llm.Delta{Part: 2, Piece: llm.Call{ID: "1", Name: "print", Input: `{"text": "`}})
		for _, r := range m.secret {
			say(llm.Delta{Part: 2, Piece: llm.Call{Input: string(r)}})
		}
		say(llm.Delta{Part: 2, Piece: llm.Call{Input: `"}`}, Stop: llm.ToolUse})
	}
}

// Nothing that is shown while it comes has a secret in it, and all the rest is
// shown.
func TestNoSecretIsShownOnItsWay(t *testing.T) {
	const secret = "hunter2-hunter2-héhé"
	secrets := journal.NewSecrets(map[string]string{"KEY": secret})
	print := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "print"}, Hints: openmanus.Hints{ReadOnly: true}},
		func(_ context.Context, call openmanus.Call, _ struct {
			Text string `json:"text"`
		}) (openmanus.Result, error) {
			for _, b := range []byte("printed: é " + secret + " hunt") { // by the byte, in the middle of letters
				if _, err := call.Live.Write([]byte{b}); err != nil {
					return openmanus.Result{}, err
				}
			}
			return openmanus.TextResult("ok"), nil
		})
	var typed, called, printed strings.Builder
	mem := &journal.Memory{Secrets: secrets}
	a := &openmanus.Agent{Name: "a", Model: mumbler{secret}, Tools: []openmanus.Tool{print}}
	w := &run.Worker{Journal: mem, Flow: run.FlowsByName(a), Secrets: secrets, Live: func(_ string, b openmanus.Body) {
		switch b := b.(type) {
		case openmanus.Typing:
			for _, p := range b.Parts {
				switch p := p.(type) {
				case llm.Thinking:
					typed.WriteString(p.Text)
				case llm.Text:
					typed.WriteString(p.Text)
				case llm.Call:
					called.WriteString(p.Input)
				}
			}
		case openmanus.Output:
			printed.WriteString(b.Text)
		}
	}}
	if err := openmanus.Open(t.Context(), mem, "s", a, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")}); err != nil {
		t.Fatal(err)
	}
	drive(t, w, "s")
	if got := typed.String(); got != "[[secret:KEY]][[secret:KEY]]done" {
		t.Errorf("typed %q", got)
	}
	if got := called.String(); got != `{"text": "[[secret:KEY]]"}` {
		t.Errorf("called with %q", got)
	}
	if got := printed.String(); got != "" {
		t.Errorf("a call with a placeholder ran and printed %q", got)
	}
	a.Model = llmtest.Script(llmtest.Use("", "print", map[string]string{"text": "x"}), llmtest.Say("done"))
	if err := openmanus.Open(t.Context(), mem, "s2", a, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")}); err != nil {
		t.Fatal(err)
	}
	drive(t, w, "s2")
	if got := printed.String(); got != "printed: é [[secret:KEY]] hunt" {
		t.Errorf("printed %q", got)
	}
}

// drive does what a session calls for until there is nothing left.
func drive(t *testing.T, w *run.Worker, id string) {
	t.Helper()
	for range 20 {
		todo, err := tasks(t.Context(), w, id)
		if err != nil {
			t.Fatal(err)
		}
		if len(todo) == 0 {
			return
		}
		if err := do(t.Context(), w, id, todo[0]); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it does not end")
}

// Other text stays unchanged: not a line of this program's sources is redacted.
func TestNothingElseIsReplaced(t *testing.T) {
	values := make(map[string]string)
	for i := range 40 {
		values[fmt.Sprint("K", i)] = fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i)}))[:16+i%20]
	}
	s := journal.NewSecrets(values)
	lines, size := 0, 0
	err := filepath.WalkDir("../..", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || size > 5<<20 || filepath.Ext(p) != ".go" {
			return err
		}
		data, err := os.ReadFile(p)
		size += len(data)
		lines += bytes.Count(data, []byte("\n"))
		if s.Replace(string(data)) != string(data) {
			t.Errorf("%s was changed", p)
		}
		return err
	})
	if err != nil || lines < 10_000 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
