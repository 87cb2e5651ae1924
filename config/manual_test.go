package config

import (
	"fmt"
	"strings"
)

// manual returns the part of docs/configuration.md that lists the keys, as
// Markdown.
func manual() string {
	var b strings.Builder
	for _, s := range schema() {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", heading(s.name), s.doc)
		b.WriteString("| key | value | default | environment | meaning |\n|---|---|---|---|---|\n")
		for _, k := range s.keys {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", lastName(k.name), k.kind.name, code(k.std), k.others(), k.meaning())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// heading returns the heading of a section.
func heading(section string) string {
	switch section {
	case "":
		return "General"
	case "llm.*":
		return "`[llm.NAME]`"
	case "models.*":
		return "`[models.\"PROVIDER/NAME\"]`"
	case "users.*":
		return "`[users.NAME]`"
	case "a2a.*":
		return "`[a2a.NAME]`"
	case "schedules.*":
		return "`[schedules.NAME]`"
	case "triggers.*":
		return "`[triggers.NAME]`"
	}
	return "`[" + section + "]`"
}

// code returns s as code of Markdown; "" for "".
func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// others returns the ways to set k besides a file: variables and a flag.
func (k key) others() string {
	ways := []string{code(variable(strings.Replace(k.name, "*", "NAME", 1)))}
	ways = append(ways, code(k.env))
	if k.flag != "" {
		ways = append(ways, code("--"+k.flag))
	}
	return strings.Join(without(ways, ""), ", ")
}

// without returns list without a word.
func without(list []string, word string) []string {
	var kept []string
	for _, s := range list {
		if s != word {
			kept = append(kept, s)
		}
	}
	return kept
}

// meaning returns the sentences about k, and what a workspace may do with it.
func (k key) meaning() string {
	doc := strings.ReplaceAll(k.doc, "|", `\|`)
	if k.unused != "" {
		return doc + " *It " + k.unused + ".*"
	}
	switch k.workspace {
	case free:
		doc += " *A workspace may set it.*"
	case tighter:
		doc += " *A workspace may lower it.*"
	case adds:
		doc += " *A workspace may add to it.*"
	}
	return doc
}
