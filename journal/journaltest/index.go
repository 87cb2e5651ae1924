package journaltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// An indexer is a journal that programs share: it lists, searches, adds up and deletes.
type indexer interface {
	openmanus.Journal
	openmanus.Locker
	journal.Index
	journal.Searcher
	journal.Meter
	journal.Deleter
	journal.IdleMarker
	journal.JSONReader
	journal.Devices
	journal.Receivers
	Find(ctx context.Context, prefix string) (string, error)
}

const indexes = "journal.Index with all that belongs to it"

func indexCases() []testCase {
	return []testCase{
		{name: "a list says what a session is", needs: indexes, run: sessionInfo},
		{name: "titles are short", needs: indexes, run: longTitle},
		{name: "sessions are listed by their last update", needs: indexes, run: listed},
		{name: "sessions with nothing to do are left out", needs: indexes, run: underWay},
		{name: "sessions are found by how their ids begin", needs: indexes, run: found},
		{name: "a session is deleted with its events", needs: indexes, run: deletes},
		{name: "a session that is driven is not deleted", needs: indexes, run: deleteDriven},
		{name: "followers end with their session", needs: indexes, run: followDeleted},
		{name: "sessions are found by what was said", needs: indexes, run: searched},
		{name: "what models used is added up", needs: indexes, run: used},
		{name: "devices are kept", needs: indexes, run: devicesKept},
		{name: "receivers are kept", needs: indexes, run: receiversKept},
		{name: "encoded events are the events", needs: indexes, run: eventsJSON},
	}
}

// indexed returns an empty journal with an index.
func indexed(t testing.TB, open Opener) indexer {
	t.Helper()
	return simple(t, open).(indexer)
}

func list(t testing.TB, db indexer, opts journal.ListOptions) (ids []string) {
	t.Helper()
	for info, err := range db.Sessions(t.Context(), opts) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	return ids
}

func session(t testing.TB, db indexer, id string) journal.SessionInfo {
	t.Helper()
	info, err := db.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func underWay(t testing.TB, open Opener) {
	db := indexed(t, open)
	for _, id := range []string{"rests", "moves", "new"} {
		add(t, db, id, opening(), said("u", "hello"))
	}
	for id, seq := range map[string]int64{"rests": 2, "moves": 1, "none": 3} {
		if err := db.MarkIdle(t.Context(), id, seq); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(list(t, db, journal.ListOptions{UnderWay: true}), " "); got != "new moves" {
		t.Errorf("under way are %q", got)
	}
	add(t, db, "rests", said("u2", "go on"))
	if got := strings.Join(list(t, db, journal.ListOptions{UnderWay: true}), " "); got != "rests new moves" {
		t.Errorf("after a message there are %q", got)
	}
}

func deletes(t testing.TB, open Opener) {
	db := indexed(t, open)
	add(t, db, "s", opening(), said("u", strings.Repeat("long ", 5000)))
	add(t, db, "other", opening())
	if err := db.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if evs := read(t, db, "s", 0); len(evs) > 0 {
		t.Errorf("there are %d events", len(evs))
	}
	if got := strings.Join(list(t, db, journal.ListOptions{}), " "); got != "other" {
		t.Errorf("the sessions are %q", got)
	}
	if err := db.Delete(t.Context(), "s"); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("deleting it again: %v, want ErrNoSession", err)
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Noted{ID: "1"}); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("append to it: %v, want ErrNoSession", err)
	}
	begin(t, db, "s") // the name is free again
}

func sessionInfo(t testing.TB, open Opener) {
	db := indexed(t, open)
	evs, err := db.Append(t.Context(), "s", openmanus.Opened{Flow: "manus", Parent: "above"},
		openmanus.Configured{Spec: openmanus.Spec{Model: "openai/small", Workspace: "/old"}},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "  Find the three\n\tbest months\x1b[31m ")})
	if err != nil {
		t.Fatal(err)
	}
	first := session(t, db, "s")
	if want := (journal.SessionInfo{
		ID: "s", Title: "Find the three best months [31m", Created: evs[0].Time, Updated: evs[2].Time, Events: 3, Last: "user_said",
		Flow: "manus", Parent: "above", Model: "openai/small", Workspace: "/old",
	}); !reflect.DeepEqual(first, want) {
		t.Errorf("the listing says\n%+v, want\n%+v", first, want)
	}
	u := llm.Usage{Input: 100, Output: 10, Cached: 50, CacheWrite: 5, Reasoning: 3}
	add(t, db, "s", openmanus.UserSaid{ID: "2", Message: llm.Say(llm.User, "and the worst")}, openmanus.ModelSaid{Usage: u, Cost: 7})
	add(t, db, "s", openmanus.ModelFailed{Turn: 1, Usage: u, Cost: 1}, openmanus.ChildDone{Child: "c", Usage: u, Cost: 1000},
		openmanus.Configured{N: 1, Spec: openmanus.Spec{Model: "openai/large", Workspace: "/new"}})
	add(t, db, "s", openmanus.Titled{ID: "1", Title: "Months"}, openmanus.Titled{ID: "2", Title: "The months"}, openmanus.Foreign{Type: "teleported", Stored: "t/1", Content: []byte("{}")})
	got := session(t, db, "s")
	if got.Title != "The months" || got.Model != "openai/large" || got.Workspace != "/new" || got.Events != 11 || got.Last != "teleported" {
		t.Errorf("the listing says %+v", got)
	}
	if got.Usage != u.Add(u) || got.Cost != 8 {
		t.Errorf("the usage is %+v and the cost %d, want %+v and 8", got.Usage, got.Cost, u.Add(u))
	}
	if got.Created != first.Created || !got.Updated.After(first.Updated) {
		t.Errorf("created %v, updated %v", got.Created, got.Updated)
	}
}

func longTitle(t testing.TB, open Opener) {
	db := indexed(t, open)
	for i, words := range []string{strings.Repeat("wörter ", 5000), strings.Repeat("🙂", 5000), strings.Repeat(" ", 50) + strings.Repeat("x", 81)} {
		id := fmt.Sprint(i)
		add(t, db, id, opening(), openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, words)})
		title := []rune(session(t, db, id).Title)
		if len(title) > 80 || len(title) < 70 || title[len(title)-1] != '…' {
			t.Errorf("the title of %.20q is %q", words, string(title))
		}
	}
}

func listed(t testing.TB, open Opener) {
	db := indexed(t, open)
	for _, id := range []string{"a", "b", "c"} {
		add(t, db, id, opening(), openmanus.Configured{Spec: openmanus.Spec{Workspace: "/" + id}})
	}
	add(t, db, "b.1", openmanus.Opened{Parent: "b"}, openmanus.Configured{Spec: openmanus.Spec{Workspace: "/b"}})
	add(t, db, "schedule-s", openmanus.Opened{Flow: journal.ScheduleFlow})
	add(t, db, "a", openmanus.Noted{ID: "1"})
	for _, tt := range []struct {
		opts journal.ListOptions
		want string
	}{
		{journal.ListOptions{}, "a b.1 c b"},
		{journal.ListOptions{Limit: 2}, "a b.1"},
		{journal.ListOptions{Roots: true}, "a c b"},
		{journal.ListOptions{Parent: "b"}, "b.1"},
		{journal.ListOptions{Workspace: "/b"}, "b.1 b"},
		{journal.ListOptions{Workspace: "/b", Roots: true}, "b"},
		{journal.ListOptions{Parent: "nobody"}, ""},
		{journal.ListOptions{Schedules: true}, "schedule-s"},
	} {
		if got := strings.Join(list(t, db, tt.opts), " "); got != tt.want {
			t.Errorf("with %+v: %q, want %q", tt.opts, got, tt.want)
		}
	}
	for range db.Sessions(t.Context(), journal.ListOptions{}) {
		break // may be left, and the store goes on
	}
	add(t, db, "c", openmanus.Ended{Turn: 1, Status: openmanus.Finished})
	for _, want := range []string{"c a b.1 b", "a b.1 b"} { // until it is known that nothing is left to do in c
		if got := strings.Join(list(t, db, journal.ListOptions{Open: true}), " "); got != want {
			t.Errorf("open are %q, want %q", got, want)
		}
		for _, id := range []string{"c", "a"} { // a may still wait, even if nothing is to be done now
			if err := db.MarkIdle(t.Context(), id, session(t, db, id).Events); err != nil {
				t.Fatal(err)
			}
		}
	}
	pages(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for info, err := range db.Sessions(ctx, journal.ListOptions{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a list that was cancelled yielded %v, %v", info, err)
		}
	}
	if _, err := db.Session(t.Context(), "nobody"); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("a session that is not there: %v", err)
	}
}

// pages reads the list page by page while it changes: nothing is left out.
func pages(t testing.TB, db indexer) {
	t.Helper()
	at := func(id string) journal.Place { return journal.Place{Updated: session(t, db, id).Updated, ID: id} }
	var got []string
	var after journal.Place
	for range 3 {
		for _, id := range list(t, db, journal.ListOptions{Limit: 2, After: after}) {
			got, after = append(got, id), at(id)
		}
	}
	if strings.Join(got, " ") != "c a b.1 b" {
		t.Errorf("pages of two have %q", got)
	}
	after = at("a")
	add(t, db, "a", openmanus.Noted{ID: "2"})
	if got := strings.Join(list(t, db, journal.ListOptions{After: after}), " "); got != "b.1 b" {
		t.Errorf("after a session that was updated since there are %q", got)
	}
	after = at("c")
	if err := db.Delete(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(list(t, db, journal.ListOptions{After: after, Roots: true}), " "); got != "b" {
		t.Errorf("after a session that is gone there are %q", got)
	}
}

func found(t testing.TB, open Opener) {
	db := indexed(t, open)
	for _, id := range []string{"abc", "abd", "ab%", "x", "xyz", "ünique", "_a"} {
		add(t, db, id, opening(), openmanus.Titled{ID: "1", Title: "about " + id})
	}
	for i := range 12 {
		add(t, db, fmt.Sprintf("many-%02d", i), opening())
	}
	for prefix, want := range map[string]string{"abc": "abc", "x": "x", "xy": "xyz", "ü": "ünique", "ab%": "ab%", "_": "_a"} {
		if got, err := db.Find(t.Context(), prefix); got != want || err != nil {
			t.Errorf("%q finds %q, %v, want %q", prefix, got, err, want)
		}
	}
	for _, prefix := range []string{"", "q", "%", "AB"} {
		if got, err := db.Find(t.Context(), prefix); !errors.Is(err, openmanus.ErrNoSession) {
			t.Errorf("%q finds %q, %v, want ErrNoSession", prefix, got, err)
		}
	}
	_, err := db.Find(t.Context(), "ab")
	if err == nil || errors.Is(err, openmanus.ErrNoSession) {
		t.Fatalf("a prefix of three finds one: %v", err)
	}
	for _, s := range []string{`"ab"`, "abc  about abc", "abd  about abd", "ab%  about ab%", "give more"} {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error is %q, and does not say %q", err, s)
		}
	}
	if _, err := db.Find(t.Context(), "many"); err == nil || !strings.Contains(err.Error(), "and more") || strings.Count(err.Error(), "many-") != 8 {
		t.Errorf("the error is %q", err)
	}
}

func deleteDriven(t testing.TB, open Opener) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir}).(indexer)
	add(t, db, "s", opening())
	lease, err := open(t, Options{Dir: dir}).(indexer).Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(t.Context(), "s"); !errors.Is(err, openmanus.ErrDriven) {
		t.Errorf("delete: %v, want ErrDriven", err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(t.Context(), "s"); err != nil {
		t.Errorf("delete after the release: %v", err)
	}
}

func followDeleted(t testing.TB, open Opener) {
	dir := t.TempDir()
	one, two := open(t, Options{Dir: dir}).(indexer), open(t, Options{Dir: dir}).(indexer)
	for _, id := range []string{"here", "there"} {
		add(t, one, id, opening())
	}
	type follower struct {
		began chan struct{}
		ended chan error
	}
	begin := func(db indexer, id string) follower {
		f := follower{make(chan struct{}), make(chan error, 1)}
		go func() {
			for _, err := range db.Follow(t.Context(), id, 0) {
				if err != nil {
					f.ended <- err
					return
				}
				close(f.began)
			}
			f.ended <- nil
		}()
		return f
	}
	followers := []follower{begin(one, "here"), begin(two, "here"), begin(one, "there"), begin(two, "there")}
	for _, f := range followers {
		<-f.began
	}
	for _, id := range []string{"here", "there"} {
		if err := one.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for i, f := range followers {
		if err := <-f.ended; !errors.Is(err, openmanus.ErrNoSession) {
			t.Errorf("follower %d ended with %v, want ErrNoSession", i, err)
		}
	}
}

func searched(t testing.TB, open Opener) {
	db := indexed(t, open)
	say := func(session, owner string, words ...string) {
		t.Helper()
		bodies := []openmanus.Body{openmanus.Opened{Flow: "manus", Owner: owner}}
		for i, w := range words {
			bodies = append(bodies, openmanus.UserSaid{ID: string(rune('a' + i)), Message: llm.Say(llm.User, w)})
		}
		if _, err := db.Append(t.Context(), session, bodies...); err != nil {
			t.Fatal(err)
		}
	}
	say("sales", "ann", "read sales.csv", "find the three best months")
	say("weather", "ann", "what is the weather in Köln?")
	say("tea", "bob", "北京的茶馆在哪里")
	say("long", "bob", strings.Repeat("nothing of note, ", 2000)+"needle")

	if _, err := db.Append(t.Context(), "weather",
		openmanus.ModelSaid{Turn: 1, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c1", Name: "ask_human", Input: `{"n":1,"inquire":"Which currency, \u20ac or $?"}`}}}},
		openmanus.Asked{Call: "c1", Question: "Which currency?"}, openmanus.Answered{Call: "c1", Text: "the Swiss franc"}); err != nil {
		t.Fatal(err)
	}
	search := func(words string, opts journal.ListOptions) string {
		t.Helper()
		hits, err := db.Search(t.Context(), words, opts)
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		var ids []string
		for _, h := range hits {
			if !strings.Contains(h.Snippet, journal.MarkBegin) || !strings.Contains(h.Snippet, journal.MarkEnd) || h.Seq < 2 {
				t.Errorf("%q: event %d, %q", words, h.Seq, h.Snippet)
			}
			ids = append(ids, h.ID)
		}
		return strings.Join(ids, " ")
	}
	for words, want := range map[string]string{
		"months":         "sales",
		"BEST month":     "sales",
		"best weather":   "",
		"köln":           "weather",
		"koln?":          "",
		"茶馆在":            "tea",
		"needle":         "long",
		"currency, €":    "weather",
		"swiss":          "weather",
		`"quoted" OR (`:  "",
		`sales.csv"`:     "",
		"inquire":        "",
		"best th":        "sales",
		"best of":        "",
		"茶馆":             "tea",
		"馆 京 在哪里":        "tea",
		"茶 %":            "",
		"NEAR(the, AND)": "",
	} {
		if got := search(words, journal.ListOptions{}); got != want {
			t.Errorf("%q found %q, want %q", words, got, want)
		}
	}
	if got := search("the", journal.ListOptions{Owner: "bob"}); got != "" {
		t.Errorf("bob found %q", got)
	}
	if _, err := db.Search(t.Context(), " \xff", journal.ListOptions{}); !errors.Is(err, journal.ErrNoWords) {
		t.Errorf("no words: %v", err)
	}

	// Later messages are found, and deleted sessions are not.
	if _, err := db.Append(t.Context(), "tea", openmanus.Titled{ID: "1", Title: "the best tea"}); err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(t.Context(), "sales"); err != nil {
		t.Fatal(err)
	}
	if got := search("best", journal.ListOptions{}); got != "tea" {
		t.Errorf("found %q, want tea alone", got)
	}
}

func used(t testing.TB, open Opener) {
	db := indexed(t, open)
	spend(t, db)
	for by, want := range map[string]string{
		"":        "a/one: 3, 112 in, 11 out, 0 estimated, 0 unpriced, 56\nb/eye: 1, 7 in, 3 out, 10 estimated, 10 unpriced, 0\nc/free: 1, 4 in, 0 out, 0 estimated, 0 unpriced, 0\n",
		"flow":    "swe: 1, 100 in, 10 out, 0 estimated, 0 unpriced, 50\nmanus: 4, 23 in, 4 out, 10 estimated, 10 unpriced, 6\n",
		"session": "s.c: 1, 100 in, 10 out, 0 estimated, 0 unpriced, 50\ns: 4, 23 in, 4 out, 10 estimated, 10 unpriced, 6\n",
	} {
		if got := usedText(t, db, by, "ann"); got != want {
			t.Errorf("by %q:\n%swant\n%s", by, got, want)
		}
	}
	if got := usedText(t, db, "flow", ""); !strings.Contains(got, "manus: 5, 24 in") {
		t.Errorf("of all: %s", got)
	}
	if _, err := db.Used(t.Context(), journal.MeterOptions{By: "colour"}); err == nil {
		t.Error("it adds up by colour")
	}
	info, err := db.Session(t.Context(), "s")
	if err != nil || info.Usage != (llm.Usage{Input: 23, Output: 4, Estimated: 10}) || info.Unpriced != 10 || info.Cost != 6 {
		t.Errorf("%+v, %v", info, err)
	}
	// A copy has used nothing, and what was deleted does not count.
	if err := journal.Fork(t.Context(), db, "s.c", 0, "copy"); err != nil {
		t.Fatal(err)
	}
	if got := usedText(t, db, "session", "ann"); strings.Contains(got, "copy") {
		t.Errorf("with a copy:\n%s", got)
	}
	if err := db.Delete(t.Context(), "s.c"); err != nil {
		t.Fatal(err)
	}
	if got := usedText(t, db, "session", "ann"); strings.Contains(got, "s.c") {
		t.Errorf("after deleting:\n%s", got)
	}
}

// usedText returns what db adds up, a line for each group without the day.
func usedText(t testing.TB, db indexer, by, owner string) string {
	t.Helper()
	used, err := db.Used(t.Context(), journal.MeterOptions{By: by, Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, u := range used {
		if by == "day" {
			u.Name = "day"
		}
		fmt.Fprintf(&b, "%s: %d, %d in, %d out, %d estimated, %d unpriced, %d\n", u.Name, u.Requests, u.Usage.Input, u.Usage.Output,
			u.Usage.Estimated, u.Unpriced, u.Cost)
	}
	return b.String()
}

// spend appends a session of two agents and three models.
func spend(t testing.TB, db indexer) {
	t.Helper()
	put := func(session string, bodies ...openmanus.Body) {
		t.Helper()
		if _, err := db.Append(t.Context(), session, bodies...); err != nil {
			t.Fatal(err)
		}
	}
	config := openmanus.Configured{Spec: openmanus.Spec{Model: "a/one"}}
	put("s", openmanus.Opened{Flow: "manus", Owner: "ann", Version: 2}, config)
	put("s", openmanus.ModelSaid{Turn: 0, By: "a/one", Usage: llm.Usage{Input: 10, Output: 1}, Cost: 5,
		Aside: []openmanus.ModelUse{{By: "b/eye", Usage: llm.Usage{Input: 7, Output: 3, Estimated: 10}}}},
		openmanus.ModelFailed{Turn: 1, Usage: llm.Usage{Input: 2}, Cost: 1})
	put("s", openmanus.Compacted{N: 0, By: "c/free", Usage: llm.Usage{Input: 4}, Free: true})
	put("s.c", openmanus.Opened{Flow: "swe", Parent: "s", Owner: "ann", Version: 2}, config,
		openmanus.ModelSaid{Turn: 0, By: "a/one", Usage: llm.Usage{Input: 100, Output: 10}, Cost: 50})
	// the report of a child does not count twice
	put("s", openmanus.ChildOpened{Child: "s.c"}, openmanus.ChildDone{Child: "s.c", Usage: llm.Usage{Input: 100, Output: 10}, Cost: 50})
	put("bob", openmanus.Opened{Flow: "manus", Owner: "bob", Version: 2}, config,
		openmanus.ModelSaid{Turn: 0, By: "a/one", Usage: llm.Usage{Input: 1}, Cost: 1})
}

func devicesKept(t testing.TB, open Opener) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir}).(indexer)
	at := time.Unix(1_800_000_000, 5000).UTC()
	phone := journal.Device{Endpoint: "https://push.example.org/1", Key: "k", Auth: "a", Name: "Phone", Language: "zh", Added: at}
	laptop := journal.Device{Endpoint: "https://push.example.org/2", Key: "k2", Auth: "a2", Name: "Laptop", Language: "en", Added: at.Add(time.Hour)}
	old := phone
	old.Key = "old"
	for owner, devices := range map[string][]journal.Device{"ann": {old, laptop, phone}, "bob": {phone}} {
		for _, d := range devices {
			if err := db.AddDevice(t.Context(), owner, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, endpoint := range []string{phone.Endpoint, "https://push.example.org/none"} {
		if err := db.RemoveDevice(t.Context(), "bob", endpoint); err != nil {
			t.Fatal(err)
		}
	}
	db = open(t, Options{Dir: dir}).(indexer)
	got, err := db.Devices(t.Context(), "ann")
	if err != nil || len(got) != 2 || got[0] != laptop || got[1] != phone {
		t.Errorf("ann's: %v %+v", err, got)
	}
	for _, owner := range []string{"bob", "", "eve"} {
		if got, err := db.Devices(t.Context(), owner); err != nil || len(got) != 0 {
			t.Errorf("%q has %v %+v", owner, err, got)
		}
	}
}

// Receivers are kept with how far they got; one of several processes has each; they go
// with their session.
func receiversKept(t testing.TB, open Opener) {
	dir := t.TempDir()
	db := open(t, Options{Dir: dir}).(indexer)
	at := time.Unix(1_800_000_000, 7000).UTC()
	for _, session := range []string{"s", "t"} {
		if _, err := db.Append(t.Context(), session, openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion}); err != nil {
			t.Fatal(err)
		}
	}
	first := journal.Receiver{Session: "s", ID: "one", Spec: []byte(`{"url":"https://a.example.org"}`), Added: at}
	second := journal.Receiver{Session: "s", ID: "two", Spec: []byte(`{}`), At: "4.1", Until: at, Failing: at.Add(time.Second), Added: at.Add(time.Second)}
	done := journal.Receiver{Session: "t", ID: "one", Spec: []byte(`{}`), Done: true, Added: at}
	old := first
	old.Spec, old.Done = []byte(`{"old":true}`), true
	for _, r := range []journal.Receiver{old, second, done, first} {
		if err := db.PutReceiver(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	lost := first
	lost.Session = "none"
	if err := db.PutReceiver(t.Context(), lost); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("without a session: %v, want ErrNoSession", err)
	}
	db = open(t, Options{Dir: dir}).(indexer)
	look := func(session string, want ...journal.Receiver) {
		t.Helper()
		got, err := db.Receivers(t.Context(), session)
		if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("of %q: %v\n%+v\nnot\n%+v", session, err, got, want)
		}
	}
	look("", first, second)
	look("t", done)
	mine, late := first, first
	mine.Until, mine.At = at.Add(time.Minute), "9.2"
	late.Until = at.Add(time.Hour)
	if moved, err := db.MoveReceiver(t.Context(), first, mine); err != nil || !moved {
		t.Errorf("the first move: %t %v", moved, err)
	}
	if moved, err := db.MoveReceiver(t.Context(), first, late); err != nil || moved {
		t.Errorf("the move of a process that came too late: %t %v", moved, err)
	}
	look("s", mine, second)
	for _, id := range []string{"two", "none"} {
		if err := db.RemoveReceiver(t.Context(), "s", id); err != nil {
			t.Error(err)
		}
	}
	if moved, err := db.MoveReceiver(t.Context(), second, second); err != nil || moved {
		t.Errorf("a receiver that is gone moved: %t %v", moved, err)
	}
	look("s", mine)
	if err := db.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	look("s")
	look("")
}

// EventsJSON yields what encoding the events does, whatever they contain.
func eventsJSON(t testing.TB, open Opener) {
	db := indexed(t, open)
	large := strings.Repeat("large <b>&amp;</b> \u2028 ", 2000)
	bodies := []openmanus.Body{
		openmanus.Opened{Flow: "<script>", Version: openmanus.FormatVersion},
		openmanus.UserSaid{ID: `a "quoted" id`, Message: llm.Say(llm.User, "it says \"$blob\", \\, \n and é")},
		openmanus.UserSaid{ID: "2", Message: llm.Say(llm.User, large)},
		openmanus.Foreign{Type: "later", Stored: "later/1", Content: json.RawMessage("{ \"a\":\n 1, \"$blob\": \"x\" }")},
	}
	if _, err := db.Append(t.Context(), "s", bodies...); err != nil {
		t.Fatal(err)
	}
	var want []openmanus.Event
	for ev, err := range db.Events(t.Context(), "s", 1) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, ev)
	}
	i := 0
	for l, err := range db.EventsJSON(t.Context(), "s", 1) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(want[i])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(l.JSON, data) || l.Seq != want[i].Seq || l.Type != openmanus.TypeName(want[i].Body) {
			t.Errorf("line %d is %d %s\n%.300s\nand the event\n%.300s", i, l.Seq, l.Type, l.JSON, data)
		}
		i++
	}
	if i != len(want) || i != 3 {
		t.Errorf("%d lines of %d events", i, len(want))
	}
	for l, err := range db.EventsJSON(t.Context(), "none", 0) {
		t.Errorf("a session that does not exist has a line: %v, %v", l, err)
	}
}
