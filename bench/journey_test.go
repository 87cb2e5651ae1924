package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// TestJourneyHasWhatBreaksPrefixes: the script of B7 proves nothing if what
// it is for has slipped out of it.
func TestJourneyHasWhatBreaksPrefixes(t *testing.T) {
	script, err := journey("journey-200")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for step := 0; step < 200; step += len(script(step).Calls) {
		for _, c := range script(step).Calls {
			all = append(all, c.Name+" "+c.Arguments)
		}
	}
	if len(all) != 200 {
		t.Errorf("%d calls", len(all))
	}
	for _, want := range []string{"planning", "mark_step", "missing-", "exit 3", "no_such_tool", journeyMark, journeyImage, "the same again", "mcp_school_learn", "find_tools", "mcp_school_late-150"} {
		if !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("no call with %q", want)
		}
	}
	if !slices.ContainsFunc(all, func(s string) bool {
		_, args, _ := strings.Cut(s, " ")
		return !json.Valid([]byte(args))
	}) {
		t.Error("no call with broken arguments")
	}
	if n := requests(script); n >= 201 || n < b7Kill+2 || journeySlow(200) <= b7Kill {
		t.Errorf("%d requests; two calls at once, and both kills, are to be among them", n)
	}
	if n := journeyErrors(200); n < 20 {
		t.Errorf("%d failing calls", n)
	}
	if _, err := journey("steps-1-2"); err == nil {
		t.Error("a model of another sort is a journey")
	}
}

func TestAlternateTakesTurns(t *testing.T) {
	var order strings.Builder
	take := func(name string) func() (string, error) {
		return func() (string, error) { order.WriteString(name); return name, nil }
	}
	as, bs, err := alternate(4, nil, take("A"), take("B"))
	if err != nil || order.String() != "ABBAABBA" || strings.Join(as, "")+strings.Join(bs, "") != "AAAABBBB" {
		t.Error(order.String(), as, bs, err)
	}
	calls, broken := 0, errors.New("broken")
	_, _, err = alternate(4, nil, take("A"), func() (string, error) { calls++; return "", broken })
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("after an error: %v, %d calls", err, calls)
	}
}

func TestTableLinesUp(t *testing.T) {
	var out strings.Builder
	tab := table{head: []string{"a", "long head"}}
	tab.row("wörd", 1)
	tab.print(&out, "T")
	want := "\n### T\n\n| a    | long head |\n| ---- | --------- |\n| wörd | 1         |\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}
