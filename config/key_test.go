package config

import (
	"strings"
	"testing"
)

// A key that is written as a variable is a mistake, and the error tells the name alone. A
// key that begins with a dollar is one, and other texts may be as they like.
func TestKeysWrittenAsVariables(t *testing.T) {
	for text, name := range map[string]string{
		"$OPENAI_API_KEY": "OPENAI_API_KEY", "${my_key}": "my_key", "${env:MY_KEY}": "MY_KEY", "$env:MY_KEY": "MY_KEY",
		"$ecret123": "", "$Secret": "", "$": "", "$A$B": "",
	} {
		_, err := parseKey(text)
		if (err != nil) != (name != "") || err != nil && (!strings.Contains(err.Error(), `api_key_env = "`+name+`"`) || strings.Contains(err.Error(), "$")) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, parse := range []func(string) (any, error){parseText, parseLines} {
		if v, err := parse("$HOME"); v != "$HOME" || err != nil {
			t.Errorf("%v, %v", v, err)
		}
	}
}
