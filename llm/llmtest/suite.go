package llmtest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/openmanus-go/openmanus/llm"
)

// Open returns the adapter under test, for an endpoint that is reached by
// client. Any address will do.
type Open func(client *http.Client) llm.Model

//go:embed cases/*.txtar
var cases embed.FS

// Run holds an adapter against every case of the suite.
//
// A case is a file in the directory cases of this package: a request and the
// reply (or the error) that it is to give, in the words of package llm. For
// each of them, wire has a file of the same name with the traffic that the
// adapter's provider makes of it: under "request.json" what the request's
// body must contain, under "response" what is answered, in the notation of
// [Peer]. Under "again.json" it may say what must be in a second request, with
// which the conversation goes on after the reply: what goes back of it.
//
// What cannot be asked of the provider is a file with "unsupported": the
// request must fail, and the error must contain that text. A case that the
// provider cannot answer is a file with "none", which says why. Where it says
// the same with other words or numbers, its file has a "reply.json" or an
// "error.json" of its own, which stands for that of the case.
//
// A case that is about what a request holds names, under "wants", the files that
// no wire may leave out.
//
// The beginning of a case's file says what it is about, and that of a wire's
// file where its traffic is taken from. Both are printed when it fails.
func Run(t *testing.T, wire fs.FS, open Open) {
	files, err := cases.ReadDir("cases")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".txtar")
		t.Run(name, func(t *testing.T) {
			c := readCase(t, wire, f.Name())
			if c.none != "" {
				t.Logf("not on this wire: %s", c.none)
				return
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("What this is about:\n%s\nWhere the traffic is from:\n%s", c.about, c.source)
				}
			})
			for how, responses := range c.variants() {
				t.Run(how, func(t *testing.T) {
					for _, r := range responses {
						bubble(t, &Peer{Answers: []string{r}}, open, c.check)
					}
				})
			}
		})
	}
	t.Run("behaviour", func(t *testing.T) { behaviour(t, wire, open) })
}

// Over is a file system that has the files of each of layers that are in none
// before it: traffic that differs from another wire's in some cases alone.
func Over(layers ...fs.FS) fs.FS { return over(layers) }

type over []fs.FS

// Open implements [fs.FS].
func (o over) Open(name string) (f fs.File, err error) {
	for _, layer := range o {
		if f, err = layer.Open(name); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return f, err
}

// bubble runs f in a synctest bubble, in which nothing may be left behind.
func bubble(t *testing.T, p *Peer, open Open, f func(*testing.T, *Peer, llm.Model)) {
	synctest.Test(t, func(t *testing.T) {
		client := p.Client()
		f(t, p, open(client))
		client.CloseIdleConnections()
		p.Wait()
	})
}

type aCase struct {
	about, source string
	req           llm.Request
	reply         *llm.Reply
	fails         *failure
	wantRequest   string
	response      string
	split         [3]string // what comes before a fragment of the arguments, the fragment, what comes after
	unsupported   string
	again         string // what a second request must hold
	none          string // why there is no such traffic
	wants         []string
}

type failure struct {
	Kind       llm.Kind `json:"kind"`
	Status     int      `json:"status"`
	RetryAfter string   `json:"retry_after"`
	Temporary  bool     `json:"temporary"`
	Contains   string   `json:"contains"`
}

func readCase(t *testing.T, wire fs.FS, name string) *aCase {
	t.Helper()
	neutral, err := cases.ReadFile("cases/" + name)
	if err != nil {
		t.Fatal(err)
	}
	traffic, err := fs.ReadFile(wire, name)
	if err != nil {
		t.Fatalf("the wire has no traffic for this case: %v\n%s", err, txtar.Parse(neutral).Comment)
	}
	c := &aCase{}
	read := func(data []byte) string {
		ar := txtar.Parse(data)
		for _, f := range ar.Files {
			text := strings.TrimSuffix(string(f.Data), "\n")
			switch f.Name {
			case "ask.json":
				decode(t, name, f.Data, &c.req)
			case "reply.json":
				c.reply = nil
				decode(t, name, f.Data, &c.reply)
			case "error.json":
				c.fails = nil
				decode(t, name, f.Data, &c.fails)
			case "request.json":
				c.wantRequest = text
			case "response":
				c.response = text
			case "before", "fragment", "after":
				c.split[strings.Index("bfa", f.Name[:1])] = text
			case "unsupported":
				c.unsupported = strings.TrimSpace(text)
			case "again.json":
				c.again = text
			case "none":
				c.none = text
			case "wants":
				c.wants = strings.Fields(text)
			default:
				t.Fatalf("%s: what is %q?", name, f.Name)
			}
		}
		return string(ar.Comment)
	}
	c.about, c.source = read(neutral), read(traffic)
	for _, file := range c.wants {
		said := map[string]string{"request.json": c.wantRequest, "again.json": c.again}[file]
		if said == "" && c.unsupported == "" && c.none == "" {
			t.Fatalf("%s: the traffic has no %s, which is what this case is about: without it nothing is tried", name, file)
		}
	}
	return c
}

func decode(t *testing.T, name string, data []byte, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// variants are the responses by which a case is tried.
func (c *aCase) variants() map[string][]string {
	if c.unsupported != "" {
		return map[string][]string{"refused": {""}}
	}
	if c.response != "" {
		head, body, _ := strings.Cut(c.response, "\n\n")
		return map[string][]string{"as it is": {c.response}, "byte by byte": {head + "\n\n<bytes>\n" + body}}
	}
	args := c.reply.Message.Calls()[0].Input
	var splits []string
	fragments := func(pieces ...string) {
		lines := []string{c.split[0], ""}
		for _, p := range pieces {
			quoted, _ := json.Marshal(p)
			lines = append(lines, strings.ReplaceAll(c.split[1], `"FRAGMENT"`, string(quoted)), "")
		}
		splits = append(splits, strings.Join(append(lines, c.split[2]), "\n"))
	}
	for i := 1; i < len(args); i++ {
		if args[i]&0xC0 != 0x80 { // JSON cannot hold half a letter
			fragments(args[:i], args[i:])
		}
	}
	fragments(strings.Split(args, "")...)
	return map[string][]string{"split": splits}
}

// check asks four times: as it is, and with a memo that is empty, full, and
// empty again. The request must have the same bytes each time.
func (c *aCase) check(t *testing.T, p *Peer, m llm.Model) {
	var reply *llm.Reply
	memo := new(llm.Memo)
	for i, memo := range []*llm.Memo{nil, memo, memo, new(llm.Memo)} {
		req := c.req
		req.Memo, req.Fixed = memo, len(req.Messages)
		r, err := llm.Generate(t.Context(), m, &req)
		switch {
		case c.unsupported != "":
			if llm.KindOf(err) != llm.Protocol || !strings.Contains(err.Error(), c.unsupported) {
				t.Errorf("error %v, want one of kind protocol with %q", err, c.unsupported)
			}
			return
		case c.fails != nil:
			c.fails.compare(t, err)
		case err != nil:
			t.Fatalf("it fails: %v", err)
		default:
			compare(t, r, c.reply)
			reply = r
		}
		seen := p.Seen()
		if len(seen) != i+1 {
			t.Fatalf("it asked %d times for %d replies", len(seen), i+1)
		}
		if i > 0 && !bytes.Equal(seen[i].Body, seen[0].Body) {
			t.Fatalf("request %d is not what request 1 was:\n%s\n%s", i+1, seen[i].Body, seen[0].Body)
		}
	}
	if diff := Missing(c.wantRequest, string(p.Seen()[0].Body)); diff != "" {
		t.Errorf("the request: %s\nrequest: %s", diff, p.Seen()[0].Body)
	}
	if c.again != "" {
		c.goOn(t, p, m, reply)
	}
}

// goOn asks on after a reply: each of its calls has the result "done", or else
// the person says "Go on.".
func (c *aCase) goOn(t *testing.T, p *Peer, m llm.Model, r *llm.Reply) {
	req := c.req
	next := llm.Say(llm.User, "Go on.")
	if calls := r.Message.Calls(); len(calls) > 0 {
		next = llm.Message{Role: llm.Tool}
		for _, call := range calls {
			next.Parts = append(next.Parts, llm.Result{ID: call.ID, Parts: llm.Parts{llm.Text{Text: "done"}}})
		}
	}
	stored, err := json.Marshal(append(c.req.Messages[:len(c.req.Messages):len(c.req.Messages)], r.Message, next))
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = nil
	decode(t, "what a journal keeps", stored, &req.Messages)
	if _, err := llm.Generate(t.Context(), m, &req); err != nil {
		t.Fatalf("the second request fails: %v", err)
	}
	seen := p.Seen()
	if diff := Missing(c.again, string(seen[len(seen)-1].Body)); diff != "" {
		t.Errorf("the second request: %s\nrequest: %s", diff, seen[len(seen)-1].Body)
	}
}

func (f *failure) compare(t *testing.T, err error) {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *llm.Error", err)
	}
	want, _ := time.ParseDuration("0" + f.RetryAfter)
	if e.Kind != f.Kind || e.Status != f.Status || e.Temporary() != f.Temporary || e.RetryAfter != want || !strings.Contains(e.Error(), f.Contains) {
		t.Errorf("error %+v (temporary: %v)\nwant %+v", e, e.Temporary(), *f)
	}
}

// compare holds a reply against the one that is wanted. By and Opaque are the
// adapter's own affair.
func compare(t *testing.T, got, want *llm.Reply) {
	t.Helper()
	g, w := plain(got), plain(want)
	if !reflect.DeepEqual(g, w) {
		gj, _ := json.MarshalIndent(g, "", "  ")
		wj, _ := json.MarshalIndent(w, "", "  ")
		t.Errorf("reply:\n%s\nwant:\n%s", gj, wj)
	}
}

func plain(r *llm.Reply) llm.Reply {
	p := llm.Reply{Stop: r.Stop, Usage: r.Usage, Message: llm.Message{Role: r.Message.Role}}
	for _, part := range r.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			part.By, part.Opaque = "", nil
			p.Message.Parts = append(p.Message.Parts, part)
		case llm.Thinking:
			part.By, part.Opaque = "", nil
			p.Message.Parts = append(p.Message.Parts, part)
		case llm.Call:
			part.By, part.Opaque = "", nil
			p.Message.Parts = append(p.Message.Parts, part)
		default:
			p.Message.Parts = append(p.Message.Parts, part)
		}
	}
	return p
}

// Missing says what of the JSON document want is not in got, or nothing. An
// object may have more fields than are wanted; a field that is wanted to be
// "<absent>" must not be there.
func Missing(want, got string) string {
	if want == "" {
		return ""
	}
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return fmt.Sprintf("what is wanted is not JSON: %v", err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return fmt.Sprintf("not JSON: %v", err)
	}
	return missing("", w, g)
}

func missing(at string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v, want an object", at, got)
		}
		for k, v := range w {
			gv, there := g[k]
			switch {
			case v == "<absent>" && there:
				return fmt.Sprintf("%s is %v, and should not be there", path.Join(at, k), gv)
			case v == "<absent>":
			case !there:
				return fmt.Sprintf("%s is not there, want %v", path.Join(at, k), v)
			default:
				if diff := missing(path.Join(at, k), v, gv); diff != "" {
					return diff
				}
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %v, want a list of %d", at, got, len(w))
		}
		for i := range w {
			if diff := missing(fmt.Sprintf("%s/%d", at, i), w[i], g[i]); diff != "" {
				return diff
			}
		}
	default:
		if !reflect.DeepEqual(want, got) {
			return fmt.Sprintf("%s is %v, want %v", at, got, want)
		}
	}
	return ""
}

// behaviour is what no comparison of a reply shows. It uses the traffic of
// the case "text", whose reply must come in several lines.
func behaviour(t *testing.T, wire fs.FS, open Open) {
	c := readCase(t, wire, "text.txtar")
	first, rest, ok := strings.Cut(c.response, "\n<here the first words are out>\n")
	if !ok {
		t.Fatal("the traffic of the case text has no line <here the first words are out>")
	}
	held := &Peer{Answers: []string{first + "\n<stall 1m>\n" + rest}}
	t.Run("a fragment is passed on when it comes", func(t *testing.T) {
		bubble(t, held, open, func(t *testing.T, _ *Peer, m llm.Model) {
			var at []time.Duration
			begin := time.Now()
			_, err := llm.Collect(t.Context(), m, &c.req, func(d llm.Delta) { at = append(at, time.Since(begin)) })
			if err != nil || len(at) < 3 || at[0] != 0 || at[len(at)-1] != time.Minute {
				t.Errorf("fragments came at %v, error %v; want the first at once, and the last after a minute", at, err)
			}
		})
	})
	stuck := first + "\n<stall 1h>\n" + rest
	t.Run("the end of the context ends the request", func(t *testing.T) {
		bubble(t, &Peer{Answers: []string{stuck}}, open, func(t *testing.T, p *Peer, m llm.Model) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			r, err := llm.Generate(ctx, m, &c.req)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second || r.Message.Text() == "" {
				t.Errorf("after %v: error %v, and %q was said", time.Since(begin), err, r.Message.Text())
			}
			p.wg.Wait() // the connection is closed by the client, so that this does not take an hour
			if time.Since(begin) > time.Minute {
				t.Error("the connection stayed open")
			}
		})
	})
	t.Run("who does not listen on ends the request", func(t *testing.T) {
		bubble(t, &Peer{Answers: []string{stuck}}, open, func(t *testing.T, p *Peer, m llm.Model) {
			begin := time.Now()
			for range m.Stream(t.Context(), &c.req) {
				break
			}
			p.wg.Wait()
			if time.Since(begin) > time.Minute {
				t.Error("the connection stayed open")
			}
		})
	})
	t.Run("a request that is not sent", func(t *testing.T) {
		p := &Peer{}
		bubble(t, p, open, func(t *testing.T, p *Peer, m llm.Model) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := llm.Generate(ctx, m, &c.req); !errors.Is(err, context.Canceled) || p.Asked() != 0 {
				t.Errorf("error %v, asked %d times", err, p.Asked())
			}
		})
	})
	t.Run("a connection is used again", func(t *testing.T) {
		plain := strings.ReplaceAll(c.response, "\n<here the first words are out>\n", "\n")
		bubble(t, &Peer{Answers: []string{plain}}, open, func(t *testing.T, p *Peer, m llm.Model) {
			for range 3 {
				if _, err := llm.Generate(t.Context(), m, &c.req); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			if n := p.Connections(); n != 1 {
				t.Errorf("%d connections for three requests, one after the other", n)
			}
		})
	})
}
