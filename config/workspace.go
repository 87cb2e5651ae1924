package config

import (
	"encoding/json"
	"fmt"
	"slices"
)

// putFromWorkspace is the [putFunc] for a workspace's file that the user does not
// trust. It sets what such a file may set: see [trust].
func (l *loader) putFromWorkspace(k key, sub string, said any, src Source) {
	text := k.kind.text(said)
	forbid := func(why string) {
		e := &Error{Source: src, Key: k.with(sub), Text: why}
		if !l.refused { // once is enough
			e.Hint = "a file found in the working directory may come from anyone: set it in your own file, " +
				"or trust this one with its present content: openmanus config trust"
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

// added returns the text of the list was, which may be nil, with more at its end.
func added(was any, more []string) string {
	list, _ := was.([]string)
	data, err := json.Marshal(slices.Concat(list, more))
	if err != nil {
		panic(err) // texts can always be encoded
	}
	return string(data)
}

// sameProvider reports whether a workspace may name the model: its requests go
// where those of the user's model go, or the user chose no model.
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
