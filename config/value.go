package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/near"
)

// A kind is what values a key takes. Every value has a text, which is how it
// stands in the environment and how it is shown; a value of TOML is turned
// into its text first, so that all sources obey the same rules.
type kind struct {
	name   string                      // for the manual
	want   string                      // for an error about a value of another type
	toml   func(v any) (string, bool)  // the text of a TOML value, if it is of a type that fits
	parse  func(s string) (any, error) // the value; the error says what is allowed
	narrow func(value, than any) bool  // whether value allows no more than than; nil: there is no such order
	near   func(s string) string       // which value was meant, perhaps
}

// tomlText is the text of a string.
func tomlText(v any) (string, bool) { s, ok := v.(string); return s, ok }

// tomlNumber is the text of an integer, a float or a string with a number.
func tomlNumber(v any) (string, bool) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case string:
		return v, true
	}
	return "", false
}

var (
	kindText     = kind{name: "text", want: "text", toml: tomlText, parse: parseText}
	kindPath     = kind{name: "path", want: "text", toml: tomlText, parse: parseText}
	kindURL      = kind{name: "URL", want: "text", toml: tomlText, parse: parseText} // see [checkURL]: what it must be depends on what it is for
	kindSecret   = kind{name: "secret", want: "text", toml: tomlText, parse: parseKey}
	kindCount    = kind{name: "whole number", want: "a whole number", toml: tomlInt, parse: parseInt("a whole number from 1", 1, false)}
	kindNatural  = kind{name: "whole number", want: "a whole number", toml: tomlInt, parse: parseInt("a whole number from 0", 0, false)}
	kindLimit    = kind{name: "whole number", want: "a whole number", toml: tomlInt, parse: parseInt("a whole number from 1, or -1 for no limit", 1, true), narrow: fewer[int]}
	kindShare    = kind{name: "percent", want: "a whole number", toml: tomlInt, parse: parseShare}
	kindBool     = kind{name: "true or false", want: "true or false", toml: tomlBool, parse: parseBool}
	kindList     = kind{name: "list", want: "a list of texts", toml: tomlList, parse: parseList}
	kindNumber   = kind{name: "number", want: "a number", toml: tomlNumber, parse: parseFloat("a number from 0", 0, 1e9)}
	kindHeat     = kind{name: "number", want: "a number", toml: tomlNumber, parse: parseFloat("a number from 0 to 2", 0, 2)}
	kindDollars  = kind{name: "USD", want: "a number", toml: tomlNumber, parse: parseDollars, narrow: fewer[openmanus.Money]}
	kindPrice    = kind{name: "USD per million tokens", want: "a number", toml: tomlNumber, parse: parsePrice}
	kindSize     = kind{name: "size", want: "text such as \"512m\", or a number of bytes", toml: tomlSize, parse: parseSize}
	kindDuration = kind{name: "duration", want: "text such as \"90s\", or a number of seconds", toml: tomlDuration, parse: parseDuration, narrow: fewer[time.Duration]}
)

// choice is the kind of one of some words; each allows more than the one
// before it.
func choice(words ...string) kind {
	return kind{
		name: "one of " + strings.Join(words, ", "),
		want: "one of " + strings.Join(words, ", "),
		toml: tomlText,
		parse: func(s string) (any, error) {
			if !slices.Contains(words, s) {
				return nil, errors.New("allowed: " + strings.Join(words, ", "))
			}
			return s, nil
		},
		narrow: func(v, limit any) bool {
			return slices.Index(words, v.(string)) <= slices.Index(words, limit.(string))
		},
		near: func(s string) string { return near.Nearest(s, words) },
	}
}

// fewer orders limits, of which a negative one is none.
func fewer[T int | openmanus.Money | time.Duration](v, limit any) bool {
	a, b := v.(T), limit.(T)
	return b < 0 || a >= 0 && a <= b
}

func parseText(s string) (any, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("allowed: one line without control characters")
	}
	return s, nil
}

func parseKey(s string) (any, error) {
	s = strings.TrimSpace(s)
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("a key is made of printable ASCII characters without spaces, and this is not")
	}
	return s, nil
}

// dummy finds what examples have where a key is to be written.
var dummy = regexp.MustCompile(`(?i)^<?your\b|^<?your_|api[ _-]key>?$`)

func tomlInt(v any) (string, bool) {
	n, ok := v.(int64)
	return strconv.FormatInt(n, 10), ok
}

func parseInt(allowed string, least int, none bool) func(string) (any, error) {
	return func(s string) (any, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n > 1<<53 || n < least && !(none && n == -1) {
			return nil, errors.New("allowed: " + allowed)
		}
		return n, nil
	}
}

func parseShare(s string) (any, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 10 || n > 95 {
		return nil, errors.New("allowed: a whole number from 10 to 95")
	}
	return n, nil
}

func tomlBool(v any) (string, bool) {
	b, ok := v.(bool)
	return strconv.FormatBool(b), ok
}

func parseBool(s string) (any, error) {
	switch strings.ToLower(s) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return nil, errors.New("allowed: true, false")
}

func parseFloat(allowed string, least, most float64) func(string) (any, error) {
	return func(s string) (any, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= least && f <= most) { // NaN is not
			return nil, errors.New("allowed: " + allowed)
		}
		return &f, nil
	}
}

func tomlList(v any) (string, bool) {
	vs, ok := v.([]any)
	if !ok {
		return "", false
	}
	for _, v := range vs {
		if _, ok := v.(string); !ok {
			return "", false
		}
	}
	data, err := json.Marshal(vs)
	return string(data), err == nil
}

func tomlSize(v any) (string, bool) {
	if n, ok := v.(int64); ok {
		return strconv.FormatInt(n, 10), true
	}
	return tomlText(v)
}

// parseSize reads a number of bytes, with a unit as Docker has them or without.
func parseSize(s string) (any, error) {
	number, shift := strings.TrimSuffix(strings.ToLower(s), "b"), 0
	for i, unit := range []string{"k", "m", "g", "t"} {
		if n, ok := strings.CutSuffix(number, unit); ok {
			number, shift = n, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > 1<<62>>shift || n<<shift < 1<<20 {
		return nil, errors.New(`allowed: a size from "1m", such as "512m" or "4g"`)
	}
	return n << shift, nil
}

// parseList reads a JSON list of strings, or words between commas.
func parseList(s string) (any, error) {
	var items []string
	if strings.HasPrefix(s, "[") {
		if err := json.Unmarshal([]byte(s), &items); err != nil {
			return nil, errors.New(`allowed: words between commas, or a list such as ["a", "b"]`)
		}
		return items, nil
	}
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items, nil
}

func tomlDuration(v any) (string, bool) {
	if n, ok := v.(int64); ok {
		return fmt.Sprintf("%ds", n), true
	}
	return tomlText(v)
}

// parseDuration reads a duration such as 90s or 1h30m, or a number of seconds.
func parseDuration(s string) (any, error) {
	d, err := time.ParseDuration(s)
	if n, e := strconv.Atoi(s); e == nil && n < 1<<31 {
		d, err = time.Duration(n)*time.Second, nil
	}
	switch {
	case err != nil || d < time.Second && s != "-1" && s != "-1s":
		return nil, errors.New(`allowed: a duration from one second, such as "90s", "10m" or "1h30m", or -1 for no limit`)
	case d < 0:
		return time.Duration(-1), nil
	}
	return d, nil
}

var decimal = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,30}))?$`) })

// fixed returns the decimal number s as a whole number of units of which
// there are 10^digits in 1, if it is one.
func fixed(s string, digits int) (n int64, whole, ok bool) {
	m := decimal().FindStringSubmatch(s)
	if m == nil {
		return 0, false, false
	}
	fraction := strings.TrimRight(m[2], "0")
	if len(fraction) > digits {
		return 0, false, true
	}
	n, err := strconv.ParseInt(m[1]+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	return n, err == nil, true
}

func parseDollars(s string) (any, error) {
	if s == "-1" {
		return openmanus.Money(-1), nil
	}
	n, whole, ok := fixed(s, 9)
	if !ok || !whole || n == 0 {
		return nil, errors.New("allowed: US dollars, such as 2.50, or -1 for no limit")
	}
	return openmanus.Money(n), nil
}

// parsePrice turns dollars per million tokens into billionths of a dollar per
// token, of which there are a thousand in one.
func parsePrice(s string) (any, error) {
	n, whole, ok := fixed(s, 3)
	switch {
	case !ok || n > 1e9:
		return nil, errors.New("allowed: US dollars per million tokens, such as 2.50, at most 1000000")
	case !whole:
		return nil, errors.New("money is counted in billionths of a dollar per token: at most three digits after the point")
	}
	return openmanus.Money(n), nil
}

// password returns the password in the address s.
func password(s string) string {
	if u, err := url.Parse(s); err == nil && u.User != nil {
		p, _ := u.User.Password()
		return p
	}
	return ""
}
