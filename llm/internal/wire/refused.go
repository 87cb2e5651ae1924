package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/llm"
)

// refusedField returns the field of a body, with this tail, that a refusal is about, as
// [llm.Error].Field has it; "" if it is about none.
func refusedField(e *llm.Error, why string, param string, tail []byte) string {
	switch {
	case e.Kind != llm.Protocol && e.Kind != llm.NoModel && e.Status != 500 && e.Status != 501, e.Images != "", e.Status == 0:
		return ""
	case noTools().MatchString(why):
		return llm.Tools
	case !refusing().MatchString(why) || inMessages().MatchString(why):
		return ""
	}
	fields := fieldsOf(tail)
	if slices.Contains(fields, param) {
		return param
	}
	found, first := "", len(why)
	for _, field := range fields {
		if at := mentioned(why, field); at >= 0 && at < first {
			found, first = field, at
		}
	}
	return found
}

// noTools matches how servers say that a model takes no tools: Ollama, OpenRouter, vLLM,
// llama.cpp, Google, Groq.
var noTools = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(does not|doesn't|do not|don't|cannot|not) support (tools?( use| calls?| calling)?|(native )?function(s| calls?| calling)?)\b|` +
		`\b(tools?( use| calls?| calling| param)?|functions?( calls?| calling)?)['"` + "`" + `]? (is|are)(n't| not) (currently )?(supported|enabled|available|allowed)|` +
		`no endpoints found that support tool use|auto['"]? tool choice requires|tools? param requires|` +
		`(unrecognized request argument supplied|unsupported param(eter)?|unknown parameter|extra inputs are not permitted)\W+(body\W+)?(tools|functions)\b`)
})

// refusing matches how servers say that they do not take a field, or its value.
var refusing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)unrecognized|unsupported|unknown|unexpected|deprecated|not (currently )?(support|permit|allow|accept|available|enabled)|(n't|not) (support|accept|allow)|` +
		`not permitted|unavailable|no longer|extra (inputs|fields)|invalid|only the default|too large|must be|may only be|not a valid|cannot find field|remove`)
})

// inMessages matches refusals of something in the conversation.
var inMessages = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(messages?|input|contents)(\[|'?\.\[?\d)|assistant message|tool message|roles? must`)
})

// containers are the fields whose own fields can be left out one by one.
var containers = []string{"generationConfig", "inferenceConfig", "options", "additionalModelRequestFields", "reasoning"}

// fieldsOf returns the names of the fields at the end of a body; those of containers after a
// dot.
func fieldsOf(tail []byte) (names []string) {
	all, _ := settingsOf(tail)
	for name, raw := range all {
		names = append(names, name)
		var inner map[string]json.RawMessage
		if slices.Contains(containers, name) && json.Unmarshal(raw, &inner) == nil {
			for within := range inner {
				names = append(names, name+"."+within)
			}
		}
	}
	slices.Sort(names)
	return names
}

// settingsOf returns the fields of a tail, and what is before them.
func settingsOf(tail []byte) (all map[string]json.RawMessage, closing []byte) {
	closing, fields, found := bytes.Cut(tail, []byte(","))
	if !found || json.Unmarshal(append([]byte("{"), fields...), &all) != nil {
		return nil, tail
	}
	return all, closing
}

// mentioned returns where a text mentions a field; -1 if it does not. A name that is a word,
// too, has to stand in quotes.
func mentioned(text, field string) int {
	_, name, inner := strings.Cut(field, ".")
	if !inner {
		name = field
	}
	form := `(?i)\b` + strings.ReplaceAll(name, "_", "[ _-]?") + `\b`
	switch {
	case strings.HasPrefix(name, "think"):
		form = `(?i)\bthink(ing)?\b`
	case name == strings.ToLower(name) && !strings.Contains(name, "_") && name != "temperature":
		form = "['\"`.](" + name + ")['\"`.]|argument supplied: " + name + `\b`
	}
	at := regexp.MustCompile(form).FindStringIndex(text)
	if at == nil {
		return -1
	}
	return at[0]
}

// leaveOut returns a tail without fields, and without what is empty then.
func leaveOut(tail []byte, fields []string) []byte {
	all, closing := settingsOf(tail)
	if all == nil || len(fields) == 0 {
		return tail
	}
	for _, field := range fields {
		name, within, inner := strings.Cut(field, ".")
		if !inner {
			delete(all, name)
			continue
		}
		var some map[string]json.RawMessage
		if json.Unmarshal(all[name], &some) != nil {
			continue
		}
		maps.DeleteFunc(some, func(k string, _ json.RawMessage) bool { return k == within })
		if all[name] = MustJSON(some); len(some) == 0 {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return append(bytes.Clone(closing), '}')
	}
	return append(append(bytes.Clone(closing), ','), MustJSON(all)[1:]...)
}
