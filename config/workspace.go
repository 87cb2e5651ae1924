package config

import (
	"encoding/json"
	"fmt"
	"slices"
)

// putFromWorkspace sets what a file says that nobody vouched for.
func (l *loader) putFromWorkspace(k key, sub string, said any, src Source) {
	text := k.kind.text(said)
	forbid := func(why string) {
		e := &Error{Source: src, Key: k.with(sub), Text: why}
		if !l.refused { // once is enough
			e.Hint = "a file found in the working directory may come from anybody: set it in your own file, " +
				"or vouch for this one as it is now: openmanus config trust"
		}
		l.refused = true
		l.fail(e)
	}
	now := l.settings[k.with(sub)]
	v, err := k.kind.parse(said)
	switch {
	case k.workspace == refused:
		forbid("a workspace may not set it")
		return
	case k.workspace == tighter && err == nil && !k.kind.narrow(v, now.value):
		forbid(fmt.Sprintf("found %s, a workspace may not allow more than %s", quoted(text), now.text))
		return
	case k.name == "llm.model" && !l.sameProvider(text):
		forbid(fmt.Sprintf("found %s, a workspace may not choose another provider", quoted(text)))
		return
	}
	if k.workspace == adds && err == nil {
		said = added(now.value, v.([]string))
	}
	l.set(k, sub, said, src)
}

// added is the text of a list that has more behind was, which may be nil.
func added(was any, more []string) string {
	list, _ := was.([]string)
	data, err := json.Marshal(slices.Concat(list, more))
	if err != nil {
		panic(err) // texts can always be encoded
	}
	return string(data)
}

// sameProvider reports whether a workspace may name the model: its requests
// go where the user's go anyway, or the user chose nothing.
func (l *loader) sameProvider(model string) bool {
	named, _ := l.src.Providers.Split(model)
	was, _ := l.src.Providers.Split(l.text("llm.model"))
	switch {
	case named != nil && named.Script:
		return false
	case named == nil, l.text("llm.base_url") != "":
		return true
	}
	return l.text("llm.model") == "" || named == was || named == l.src.Providers.Default() && was == nil
}
