package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/openmanus-go/openmanus/bench/stats"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/tokens"
)

// What B12 counts: so much in all, and so much at a time.
const (
	b12Whole = 10 << 20
	b12Piece = 256 << 10
)

// b12 measures how fast tokens are counted, beside the library whose
// vocabularies ours are, and that both count the same.
func (b *bench) b12(ctx context.Context) error {
	library := codec.NewO200kBase()
	if err := b12Same(library); err != nil {
		return err
	}
	t := &table{head: []string{"text", "pairs", "openmanus, MB/s", "tiktoken-go, MB/s", "time, ours / its (median, 95 %)", "target", "met"}}
	for _, kind := range b12Kinds {
		text := b12Text(kind.words, b12Piece)
		if err := b.b12Speed(ctx, t, kind.name, text, library, "<= 0.33"); err != nil {
			return err
		}
	}
	for _, n := range []int{64 << 10, 1 << 20} {
		if err := b.b12Speed(ctx, t, fmt.Sprintf("%d kB of a", n>>10), strings.Repeat("a", n), library, "-"); err != nil {
			return err
		}
	}
	t.print(b.out, fmt.Sprintf("B12: counting, o200k; %d MiB of mixed text counted alike", b12Whole>>20))
	b.b12Append()
	return b.b12Open(ctx)
}

// b12Same compares counts of all that is measured, and 10 MiB in all.
func b12Same(library *codec.Codec) error {
	for size := 0; size < b12Whole; {
		for _, kind := range b12Kinds {
			text := b12Text(kind.words, b12Piece+size/64) // other text each time
			size += len(text)
			want, err := library.Count(text)
			if err != nil {
				return err
			}
			if got := tokens.For(false, "gpt-5").Text(text); got != want {
				return fmt.Errorf("%s: %d tokens, and %d by the library", kind.name, got, want)
			}
		}
	}
	return nil
}

func (b *bench) b12Speed(ctx context.Context, t *table, name, text string, library *codec.Codec, target string) error {
	ours := func() (float64, error) {
		c := tokens.For(false, "gpt-5") // which remembers what it counted
		start := time.Now()
		c.Text(text)
		return time.Since(start).Seconds(), nil
	}
	its := func() (float64, error) {
		start := time.Now()
		_, err := library.Count(text)
		return time.Since(start).Seconds(), err
	}
	mine, theirs, err := alternate(b.pairs, b.calm(ctx), ours, its)
	if err != nil {
		return err
	}
	speed := func(xs []float64) string { return fmt.Sprintf("%.1f", float64(len(text))/1e6/stats.Median(xs)) }
	e, met := stats.Estimated(stats.Ratios(mine, theirs)), "-"
	if target != "-" {
		met = e.AtMost(1.0 / 3)
	}
	t.row(name, len(mine), speed(mine), speed(theirs), interval(e, "%.2f"), target, met)
	return nil
}

// b12Append measures what it takes to count a conversation again to which
// something was added.
func (b *bench) b12Append() {
	c := tokens.For(false, "gpt-5")
	var messages []llm.Message
	for i := range 500 {
		messages = append(messages, llm.Say(llm.User, fmt.Sprint(i)+b12Text(b12Kinds[i%len(b12Kinds)].words, 10_000)))
	}
	count := func() float64 {
		start := time.Now()
		for _, m := range messages {
			llm.Count(c, m)
		}
		return time.Since(start).Seconds() * 1000
	}
	whole := count()
	messages = append(messages, llm.Say(llm.User, "One more. "+b12Text(b12Kinds[0].words, 20_000)))
	t := &table{head: []string{"what", "ms"}}
	t.row("500 messages of 10 kB, the first time", fmt.Sprintf("%.1f", whole))
	t.row("the same and one more of 20 kB", fmt.Sprintf("%.2f", count()))
	t.print(b.out, "B12: after an append, all of it counted anew")
}

// b12Open measures how the vocabulary is opened, in processes of their own.
func (b *bench) b12Open(ctx context.Context) error {
	type opened struct{ ms, mb float64 }
	one := func(which string) func() (opened, error) {
		return func() (opened, error) {
			out, err := exec.CommandContext(ctx, b.program("count"), which).Output()
			var ns, heap float64
			if err == nil {
				_, err = fmt.Sscan(string(out), &ns, &heap)
			}
			return opened{ns / 1e6, heap / 1e6}, err
		}
	}
	mine, theirs, err := alternate(b.pairs, b.calm(ctx), one("ours"), one("library"))
	if err != nil {
		return err
	}
	pick := func(os []opened, f func(opened) float64) string {
		var xs []float64
		for _, o := range os {
			xs = append(xs, f(o))
		}
		return fmt.Sprintf("%.1f", stats.Median(xs))
	}
	t := &table{head: []string{"what", "runs", "openmanus", "tiktoken-go"}}
	ms, mb := func(o opened) float64 { return o.ms }, func(o opened) float64 { return o.mb }
	t.row("from nothing to the first count, ms", len(mine), pick(mine, ms), pick(theirs, ms))
	t.row("kept in memory then, MB", len(mine), pick(mine, mb), pick(theirs, mb))
	t.print(b.out, "B12: opening the vocabulary ("+runtime.GOARCH+")")
	return nil
}

// b12Kinds are kinds of text, each as the words that it is made of.
var b12Kinds = []struct {
	name  string
	words []string
}{
	{"prose", strings.Fields("the of and to in a that it is was for on with as his they at be this from I have or by one had not but what all were when we there can an your which their said if do will each about how up out them then she many some so these would other into has more her two like him see time could no make than first been its who now people my made over did down only way find use may water long little very after words called just where most know government Wolverhampton unbelievably, however; it's don't I'm they'll 1984 3.14 – “quoted” (aside) e.g. Mr. Smith’s naïve café.")},
	{"code", []string{"func", "return", "if err != nil {\n\t\treturn nil, fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n", "for i := range n {\n", "}\n\n", "s.mu.Lock()", "defer", "map[string]int{", "\"utf-8\": 1,", "// Package bench is", "HTTPServer", "newRequestWithContext(ctx,", "x += 0x1F", "== nil", "&&", "<div class=\"row\">", "</div>\n", "self.assertEqual(", "def __init__(self, *args, **kwargs):\n        ", "SELECT id, name FROM users WHERE id = $1;", "const", "=>", "...props", "{\"id\": 12345, \"tags\": [\"a\", null]}", "std::vector<int>", "#include <stdio.h>\n", "tokenizer_test.go:117:", "snake_case_name", "camelCaseName"}},
	{"CJK", []string{"人工智能", "正在", "改变", "世界", "的", "方式", "。", "東京都は", "日本の", "首都", "であり、", "大学", "カタカナ", "ひらがな", "を", "使います。", "中华人民共和国", "经济", "发展", "、", "我们", "可以", "看到", "한국어", " 문장도", " 있습니다.", "「引用」", "2024年", "３月"}},
	{"other scripts", []string{"привет ", "мир, ", "правительство ", "Größe ", "Straße ", "œuvre ", "l'été ", "señor ", "مَرْحَبًا ", "بالعالم ", "الحكومة ", "שָׁלוֹם ", "עולם ", "नमस्ते ", "दुनिया ", "สวัสดีครับ", "ภาษาไทย", "Tiếng Việt ", "γειά σου ", "Türkçe ", "😀", "👩‍💻 ", "→ ", "½ "}},
}

// b12Text is n bytes or a little more of words, always the same for a size.
func b12Text(words []string, n int) string {
	r := rand.New(rand.NewPCG(uint64(n), 12))
	sep := " "
	if strings.HasSuffix(words[0], " ") || len(words[0]) > 5 && words[0][0] > 0x7F {
		sep = "" // the words have their own spaces, or none
	}
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[r.IntN(len(words))])
		b.WriteString(sep)
		if r.IntN(40) == 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}
