package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/near"
)

// A kind is what values a key takes. A value comes as text, from a variable or
// a flag, or as a value of TOML; both obey the same rules.
type kind struct {
	id     string                     // in keys.txt
	name   string                     // in the manual
	want   string                     // in an error about a value of another type
	sample string                     // a value as TOML
	types  string                     // the types of TOML that fit, of: string int float bool list
	unit   string                     // of a bare whole number, behind its text
	parse  func(v any) (any, error)   // makes the value of a text or of a TOML value that fits; the error says what is allowed
	narrow func(value, than any) bool // whether value allows no more than than; nil: there is no such order
	near   func(s string) string      // the value that was probably meant; nil: any may be
}

// maxWhole is the greatest whole number.
const maxWhole = 1 << 53

// kinds are the kinds but for those of words: see [choice].
var kinds = []kind{
	{id: "text", name: "text", want: "text", sample: `""`, types: "string", parse: fromText(parseText)},
	{id: "lines", name: "lines of text", want: "text", sample: `""`, types: "string", parse: fromText(parseLines)},
	{id: "path", name: "path", want: "text", sample: `""`, types: "string", parse: fromText(parseText)},
	// The rules for an address depend on its use: see [loader.checkURL].
	{id: "url", name: "URL", want: "text", sample: `""`, types: "string", parse: fromText(parseText)},
	{id: "thoughts", name: "auto, none or a field", want: "text", sample: `"auto"`, types: "string", parse: fromText(parseThoughts)},
	{id: "origin", name: "URL of a server", want: "text", sample: `"https://example.org"`, types: "string", parse: fromText(parseOrigin)},
	{id: "secret", name: "secret", want: "text", sample: `""`, types: "string", parse: fromText(parseKey)},
	{id: "count", name: "whole number", want: "a whole number", sample: "1000", types: "int",
		parse: whole("a whole number from 1", 1, maxWhole)},
	{id: "natural", name: "whole number", want: "a whole number", sample: "0", types: "int",
		parse: whole("a whole number from 0", 0, maxWhole)},
	{id: "depth", name: "whole number", want: "a whole number", sample: "3", types: "int",
		parse: whole("a whole number from 1 to 16", 1, 16)},
	{id: "width", name: "whole number", want: "a whole number", sample: "8", types: "int",
		parse: whole("a whole number from 1 to 64", 1, 64)},
	{id: "repeats", name: "whole number", want: "a whole number", sample: "3", types: "int",
		parse: whole("a whole number from 2 to 100", 2, 100)},
	{id: "retries", name: "whole number", want: "a whole number", sample: "4", types: "int",
		parse: whole("a whole number from 0 to 20", 0, 20)},
	{id: "limit", name: "whole number", want: "a whole number", sample: "-1", types: "int",
		parse: wholeOrNone("a whole number from 1, or -1 for no limit"), narrow: fewer[int]},
	{id: "percent", name: "percent", want: "a whole number", sample: "80", types: "int",
		parse: whole("a whole number from 10 to 95", 10, 95)},
	{id: "bool", name: "true or false", want: "true or false", sample: "true", types: "bool", parse: parseBool},
	{id: "list", name: "list", want: "a list of texts", sample: "[]", types: "list", parse: fromText(parseList)},
	{id: "toolchains", name: "auto, none or directories", want: `"auto", "none" or a list of directories`, sample: `"none"`,
		types: "string list", parse: fromText(parseToolchains)},
	{id: "number", name: "number", want: "a number", sample: "1.5", types: "int float string",
		parse: fromText(parseFloat("a number from 0", 0, 1e9))},
	{id: "temperature", name: "number", want: "a number", sample: "0.5", types: "int float string",
		parse: fromText(parseFloat("a number from 0 to 2", 0, 2))},
	{id: "dollars", name: "USD", want: "a number", sample: "-1", types: "int float string",
		parse: fromText(parseDollars), narrow: fewer[openmanus.Money]},
	{id: "price", name: "USD per million tokens", want: "a number", sample: "0.5", types: "int float string",
		parse: fromText(parsePrice)},
	{id: "size", name: "size", want: `text such as "512m", or a number of bytes`, sample: `"4g"`, types: "string int",
		parse: fromText(parseSize)},
	{id: "duration", name: "duration", want: `text such as "90s", or a number of seconds`, sample: "-1", types: "string int",
		unit: "s", parse: fromText(parseDuration), narrow: fewer[time.Duration]},
}

// kindOf returns the kind that keys.txt calls id.
func kindOf(id string) (kind, error) {
	if words, ok := strings.CutPrefix(id, "one of "); ok {
		return choice(strings.Split(words, ", ")...), nil
	}
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.id == id }); i >= 0 {
		return kinds[i], nil
	}
	return kind{}, fmt.Errorf("there is no kind %q", id)
}

// fits reports whether a value of TOML is of a type that k takes.
func (k kind) fits(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(k.types, "string")
	case int64:
		return strings.Contains(k.types, "int")
	case float64:
		return strings.Contains(k.types, "float")
	case bool:
		return strings.Contains(k.types, "bool")
	case []any:
		return strings.Contains(k.types, "list") &&
			!slices.ContainsFunc(v, func(e any) bool { _, text := e.(string); return !text })
	}
	return false
}

// text returns v as it stands in a variable and in listings.
func (k kind) text(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case int64:
		return strconv.FormatInt(v, 10) + k.unit
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // texts can always be encoded
		}
		return string(data)
	}
	return fmt.Sprint(v)
}

// fieldName matches the name of a field of JSON.
var fieldName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`) })

// parseThoughts reads how reasoning goes back: a word, or the name of a field that no
// message has otherwise.
func parseThoughts(s string) (any, error) {
	taken := []string{"role", "content", "tool_calls", "tool_call_id", "name", "function_call", "refusal", "audio"}
	if !fieldName().MatchString(s) || slices.Contains(taken, s) {
		return nil, errors.New(`allowed: auto, none, or the name of a field beside those of every message, such as reasoning_content`)
	}
	return s, nil
}

// fromText makes a parser of any value of one of texts.
func fromText(parse func(string) (any, error)) func(any) (any, error) {
	return func(v any) (any, error) {
		switch v := v.(type) {
		case int64:
			return parse(strconv.FormatInt(v, 10))
		default:
			return parse(kind{}.text(v))
		}
	}
}

// choice is the kind of one of some words; each allows more than the one
// before it.
func choice(words ...string) kind {
	list := strings.Join(words, ", ")
	return kind{
		id: "choice", name: "one of " + list, want: "one of " + list, sample: strconv.Quote(words[0]), types: "string",
		parse: fromText(func(s string) (any, error) {
			if !slices.Contains(words, s) {
				return nil, errors.New("allowed: " + list)
			}
			return s, nil
		}),
		narrow: func(v, limit any) bool {
			return slices.Index(words, v.(string)) <= slices.Index(words, limit.(string))
		},
		near: func(s string) string { return near.Nearest(s, words) },
	}
}

// fewer is the order of limits: a negative one is no limit.
func fewer[T int | openmanus.Money | time.Duration](v, limit any) bool {
	a, b := v.(T), limit.(T)
	return b < 0 || a >= 0 && a <= b
}

// parseText accepts one line of text.
func parseText(s string) (any, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("allowed: one line without control characters")
	}
	return s, nil
}

// parseLines accepts lines of text.
func parseLines(s string) (any, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
		return nil, errors.New("allowed: text without control characters")
	}
	return s, nil
}

// parseOrigin accepts the address of a server, and no more than that.
func parseOrigin(s string) (any, error) {
	s = strings.TrimSuffix(s, "/")
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || s != u.Scheme+"://"+u.Host {
		return nil, errors.New("allowed: https://HOST or http://HOST:PORT, with nothing after it")
	}
	return s, nil
}

// parseKey accepts the characters that a key may have in a header.
func parseKey(s string) (any, error) {
	s = strings.TrimSpace(s)
	if name := variableLike.FindStringSubmatch(s); name != nil {
		return nil, fmt.Errorf("the key is written as the variable %s, which nothing puts a value in place of: write api_key_env = %[1]q", name[1]+name[2])
	}
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("a key is made of printable ASCII characters without spaces, and this is not")
	}
	return s, nil
}

// variableLike matches a key that is a variable's name in the notation of shells: in braces
// or in capitals, since a key may begin with a dollar as well.
var variableLike = regexp.MustCompile(`^\$(?:\{(?:env:)?(\w+)\}|(?:env:)?([A-Z_][A-Z0-9_]*))$`)

// dummy matches the placeholders that examples have in place of a key.
var dummy = regexp.MustCompile(`(?i)^<?your\b|^<?your_|api[ _-]key>?$`)

// whole makes a parser of whole numbers from least to most.
func whole(allowed string, least, most int64) func(any) (any, error) {
	return func(v any) (any, error) {
		n, ok := v.(int64)
		if s, isText := v.(string); isText {
			var err error
			n, err = strconv.ParseInt(strings.TrimSpace(s), 10, 64)
			ok = err == nil
		}
		if !ok || n < least || n > most {
			return nil, errors.New("allowed: " + allowed)
		}
		return int(n), nil
	}
}

// wholeOrNone makes a parser of whole numbers from 1, and of -1.
func wholeOrNone(allowed string) func(any) (any, error) {
	parse := whole(allowed, -1, maxWhole)
	return func(v any) (any, error) {
		n, err := parse(v)
		if n == 0 {
			return nil, errors.New("allowed: " + allowed)
		}
		return n, err
	}
}

// parseBool accepts the usual words for true and false.
func parseBool(v any) (any, error) {
	if b, ok := v.(bool); ok {
		return b, nil
	}
	switch s, _ := v.(string); strings.ToLower(strings.TrimSpace(s)) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return nil, errors.New("allowed: true, false")
}

// parseFloat makes a parser of numbers from least to most. The value is a *float64, so
// that 0 differs from a number that is not set.
func parseFloat(allowed string, least, most float64) func(string) (any, error) {
	return func(s string) (any, error) {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= least && f <= most) { // NaN is not
			return nil, errors.New("allowed: " + allowed)
		}
		return &f, nil
	}
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

// parseToolchains reads "auto", "none", or directories.
func parseToolchains(s string) (any, error) {
	v, err := parseList(s)
	if err != nil {
		return nil, err
	}
	dirs := v.([]string)
	if len(dirs) == 1 && (dirs[0] == "auto" || dirs[0] == "none") {
		return dirs, nil
	}
	for _, dir := range dirs {
		if !strings.HasPrefix(dir, "~/") && !filepath.IsAbs(dir) {
			return nil, errors.New(`allowed: auto, none, or a list of directories that are absolute or begin with ~/`)
		}
	}
	return dirs, nil
}

// ParseDuration reads a duration as the configuration and the command line have it, such
// as 90s, 10m, or a number of seconds. Below 0 means no limit.
func ParseDuration(s string) (time.Duration, error) {
	v, err := parseDuration(s)
	if err != nil {
		return 0, err
	}
	return v.(time.Duration), nil
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

// fixed returns the decimal number s times 10^digits. ok is false if s is no
// decimal number, and whole is false if the product is no whole number.
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

// parseDollars converts US dollars to [openmanus.Money], exactly; -1 is no limit.
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

// parsePrice converts US dollars per million tokens to [openmanus.Money] per
// token, billionths of a dollar: the factor is 1000.
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

// password returns the password in the address s; "" if there is none.
func password(s string) string {
	if u, err := url.Parse(s); err == nil && u.User != nil {
		p, _ := u.User.Password()
		return p
	}
	return ""
}
