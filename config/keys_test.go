package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Everything in the table of keys hangs together: names and variables are
// there once, defaults are values, and every key has an effect or says why
// not.
func TestKeys(t *testing.T) {
	seen := map[string]string{}
	once := func(what, name, key string) {
		if was, ok := seen[what+name]; ok {
			t.Errorf("%s: %s %s is that of %s", key, what, name, was)
		}
		seen[what+name] = key
	}
	cfg := &Config{LLM: new(LLM), Profiles: map[string]*LLM{"NAME": {}}, Models: map[string]*Info{"NAME": {}}, Users: map[string]*User{"NAME": {}}, A2A: map[string]*RemoteAgent{"NAME": {}}, Schedules: map[string]*Schedule{"NAME": {}}, Triggers: map[string]*Trigger{"NAME": {}}}
	for k := range allKeys() {
		once("name", k.name, k.name)
		for _, v := range k.variables("NAME") {
			once("variable", v, k.name)
		}
		if k.flag != "" {
			once("flag", k.flag, k.name)
		}
		if (k.field == "") == (k.unused == "") {
			t.Errorf("%s: has an effect and says that it has none, or has none and says nothing", k.name)
		}
		if !strings.HasSuffix(k.doc, ".") || strings.Contains(k.doc, "\n") {
			t.Errorf("%s: %q is no sentence", k.name, k.doc)
		}
		if k.workspace == tighter && k.kind.narrow == nil {
			t.Errorf("%s: a workspace may tighten it, but nobody knows what that is", k.name)
		}
		if k.std != "" {
			if _, err := k.kind.parse(k.std); err != nil {
				t.Errorf("%s: default: %v", k.name, err)
			}
		}
		if k.field != "" {
			once("field", fmt.Sprintf("%p", k.at(cfg, forStar(k, "NAME"))), k.name)
		}
	}
}

// Every key that has an effect reaches a field of its own, from its variable.
func TestEveryKeyFromTheEnvironment(t *testing.T) {
	for k := range allKeys() {
		if k.field == "" {
			continue
		}
		text := map[string]string{"text": "x", "lines of text": "x", "path": "/x", "URL": "http://localhost/v1", "URL of a server": "http://localhost", "secret": "sk-x", "whole number": "7", "true or false": "true",
			"list": "A,B", "auto, none or directories": "/a,~/b", "number": "1", "USD": "1", "USD per million tokens": "1", "duration": "7s", "size": "7m", "percent": "70"}[k.kind.name]
		if text == "" {
			text = k.kind.name[strings.LastIndexByte(k.kind.name, ' ')+1:]
		}
		if text == k.std {
			text = map[string]string{"true": "false", "allow": "hosts"}[text]
		}
		first, _, _ := strings.Cut(k.name, ".")
		sub := map[string]string{"llm": "fast", "models": "openai/x", "users": "ann", "a2a": "calc", "schedules": "report", "triggers": "issues"}[first]
		name := k.variables(sub)[0]
		home := t.TempDir()
		env := func(n string) (string, bool) {
			switch n {
			case name:
				return text, true
			case "HOME":
				return home, true
			}
			return "", false
		}
		file := file(t, "[llm.fast]\n[models.'openai/x']\n[users.ann]\n[a2a.calc]\n[schedules.report]\n[triggers.issues]\n")
		before, _, err := load(Sources{File: file, Dir: home, Env: empty(t)})
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := load(Sources{File: file, Dir: home, Env: env})
		if err != nil {
			t.Errorf("%s=%s: %v", name, text, err)
			continue
		}
		s := k
		was, is := reflect.ValueOf(s.at(before, forStar(k, sub))), reflect.ValueOf(s.at(after, forStar(k, sub)))
		if reflect.DeepEqual(was.Elem().Interface(), is.Elem().Interface()) {
			t.Errorf("%s=%s changes nothing", name, text)
		}
		if got := after.Origin(k.with(forStar(k, sub))); got != (Source{From: Environment, Name: name}) {
			t.Errorf("%s is from %v", k.name, got)
		}
	}
}

func forStar(k key, sub string) string {
	if strings.Contains(k.name, "*") {
		return sub
	}
	return ""
}

// The manual lists the keys as they are. Run the test with -update to write
// them into it.
func TestManual(t *testing.T) {
	path := filepath.Join("..", "docs", "configuration.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- keys: begin, written by go test ./config -update -->\n", "<!-- keys: end -->\n"
	head, rest, ok := strings.Cut(string(data), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the keys", path)
	}
	if old == "\n"+manual() {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the keys as they are: go test ./config -run TestManual -update", path)
	}
	if err := os.WriteFile(path, []byte(head+begin+"\n"+manual()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
