package bpe

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// Both vocabularies, each beside the library's.
var both = []struct {
	name string
	ours func() *Vocabulary
	its  func() *codec.Codec
}{
	{"o200k", O200k, codec.NewO200kBase},
	{"cl100k", Cl100k, codec.NewCl100kBase},
}

// cutWrong is where the library (v0.10.0) is not as OpenAI's own: of white
// space up to its last line end, which is one piece, its generated matcher
// takes what is up to the first. It also leaves out U+007F. See [TestAsOpenAI].
var cutWrong = regexp.MustCompile(`([\r\n])[\t\v\f \x{85}\p{Z}]+([\r\n])`)

// equal fails if text is not cut as the library cuts it, but for what it cuts
// wrong, which is taken out.
func equal(t *testing.T, ours *Vocabulary, its *codec.Codec, text string) {
	t.Helper()
	text = strings.ReplaceAll(text, "\x7f", "")
	for cutWrong.MatchString(text) {
		text = cutWrong.ReplaceAllString(text, "$1$2")
	}
	want, tokens, err := its.Encode(text)
	if err != nil {
		t.Fatal(err)
	}
	got := ours.Encode(text)
	n := 0
	for n < min(len(got), len(want)) && uint(got[n]) == want[n] {
		n++
	}
	if n < max(len(got), len(want)) {
		t.Fatalf("token %d of %.200q is another: %d and then %d, want %q", n, text, got[n:min(n+5, len(got))], len(got)-n, tokens[n:min(n+5, len(tokens))])
	}
	if count := ours.Count(text); count != len(want) {
		t.Fatalf("%d tokens in %.200q, want %d", count, text, len(want))
	}
}

// TestAsOpenAI has what OpenAI's tiktoken (its package for npm, 1.0.22) makes of
// text that the library cuts wrong.
func TestAsOpenAI(t *testing.T) {
	for _, tt := range []struct {
		text          string
		o200k, cl100k []uint32
	}{
		{"\n \n", []uint32{47812}, []uint32{27907}},
		{"\n \n ", []uint32{47812, 220}, []uint32{27907, 220}},
		{"\n\n \n x", []uint32{116650, 1215}, []uint32{271, 720, 865}},
		{" \n \n", []uint32{56319}, []uint32{33006}},
		{"x\n \n \n", []uint32{87, 47812, 793}, []uint32{87, 27907, 720}},
		{"a\x7fb", []uint32{64, 221, 65}, []uint32{64, 221, 65}},
		{"\x7f\u0a00", []uint32{221, 1122, 222}, []uint32{221, 40417, 222}},
		{"a \n\n  \n  b", []uint32{64, 1202, 4066, 220, 287}, []uint32{64, 4815, 2355, 220, 293}},
	} {
		if got := O200k().Encode(tt.text); !slices.Equal(got, tt.o200k) {
			t.Errorf("%q: %d, want %d", tt.text, got, tt.o200k)
		}
		if got := Cl100k().Encode(tt.text); !slices.Equal(got, tt.cl100k) {
			t.Errorf("%q: %d, want %d", tt.text, got, tt.cl100k)
		}
	}
}

// Every alternative of the regular expressions, and where they meet.
var hard = []string{
	"", " ", "  ", "\n", "\r\n", " \n", "\n ", "\n\n  x", "  x", "   \n\n   \n  x", "x  ", "\t\tx", "x\u00a0y", "\u2003\u2003x", "\u0085x", "\u200bx", "\u180ex", "\x1cx",
	"it's IT'S it'S 's 'S 'ſ it'ſ 're 'RE 'Ve 'm 'LL 'lL 'd 'x '' 'r 'l", "'sa", "don't've", "a's's", "'\u017f", "'åse",
	"HTTPServer serverHTTP iPhone McDonald ABC abcDEF ÀÉî Ǆa ǅa ʰa aʰ Aʰ",
	"東京 tokyo東京Tokyo TOKYO東京 東京ABC 東京ABCd", "がぎぐ カタカナ 한국어", "สวัสดีครับ", "مَرْحَبًا بالعالم", "שָׁלוֹם", "नमस्ते दुनिया", "\u0301", "\u0301\u0301A", "\u0301Ab", "!\u0301", "!!\u0301a", " \u0301", "a\u0301b", "A\u0301B", "1\u0301",
	"1 12 123 1234 12345678 ½ Ⅷ ٣٤٥٦ 1a a1 1.5e10", " 123", "\u00b2\u00b2\u00b2\u00b2",
	"!!! ... --- // /* */ a/b/c \n//\n/\n", "http://example.com/path?q=1&r=2#x", "!\n!\r\n!/\n/", " !", "  !", " \t!", "{\"a\": [1, 2.5, null]}\n",
	"😀😀 👨‍👩‍👧‍👦 🇩🇪 ✈️", "𝒜𝓑 𐐀𐐨 𠀀𠀁 \U000e0100 \U0010ffff \U00030000", "\ufffd", "\xff", "a\xff\xfeb", "\xe6\x9d", "\xed\xa0\x80", "<|endoftext|>", "\x00\x00", "\x7f", "\ufeff",
}

func TestHardText(t *testing.T) {
	for _, b := range both {
		t.Run(b.name, func(t *testing.T) {
			ours, its := b.ours(), b.its()
			for _, x := range hard {
				for _, y := range hard {
					equal(t, ours, its, x+y)
				}
			}
		})
	}
}

// TestEveryToken: each token alone and in pairs at random, so that every one
// of them is found and merged.
func TestEveryToken(t *testing.T) {
	for _, b := range both {
		t.Run(b.name, func(t *testing.T) {
			ours, its := b.ours(), b.its()
			var text strings.Builder
			r := rand.New(rand.NewPCG(3, 4))
			for rank := range uint32(len(ours.ends)) {
				token := ours.token(rank)
				if want, err := its.Decode([]uint{uint(rank)}); err != nil || token != want {
					t.Fatalf("token %d is %q, want %q (%v)", rank, token, want, err)
				}
				if got := ours.rank(token); got != rank {
					t.Fatalf("token %q has rank %d, want %d", token, got, rank)
				}
				text.WriteString(token)
				text.WriteString(ours.token(uint32(r.IntN(len(ours.ends)))))
			}
			if _, err := its.Decode([]uint{uint(len(ours.ends))}); err == nil {
				t.Error("the library has more tokens")
			}
			equal(t, ours, its, text.String())
		})
	}
}

// TestRandomText: characters of all classes and scripts in any order, and runs.
func TestRandomText(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, b := range both {
		t.Run(b.name, func(t *testing.T) {
			ours, its := b.ours(), b.its()
			for range 3000 {
				equal(t, ours, its, random(r, r.IntN(80)))
			}
			for range 10 {
				equal(t, ours, its, random(r, 20_000))
			}
		})
	}
}

// TestLongPieces: a piece is merged in the same way, however long it is.
func TestLongPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, b := range both {
		t.Run(b.name, func(t *testing.T) {
			ours, its := b.ours(), b.its()
			for _, alphabet := range []string{"a", "ab", " ", "=", "-=", "\n", "abcdefghijklmnopqrstuvwxyz", "東京都大学", "éèê", "ก็สวัสดี", "😀"} {
				letters := []rune(alphabet)
				for _, n := range []int{2, 3, 60, longPiece - 1, longPiece, longPiece + 1, 1000, 10_000} {
					var text strings.Builder
					for text.Len() < n {
						text.WriteRune(letters[r.IntN(len(letters))])
					}
					equal(t, ours, its, text.String())
				}
			}
		})
	}
}

// alphabet has characters of every class.
var alphabet = func() (all [][]rune) {
	for _, t := range []*unicode.RangeTable{unicode.Lu, unicode.Ll, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C, unicode.Han, unicode.Latin, unicode.Cyrillic, unicode.Arabic, unicode.Thai} {
		var some []rune
		for _, r := range t.R16 {
			some = append(some, rune(r.Lo), rune(r.Hi))
		}
		for _, r := range t.R32 {
			some = append(some, rune(r.Lo), rune(r.Hi))
		}
		all = append(all, some)
	}
	return append(all, []rune(" \n\r\t'stremvldSTREMVLDſ/.,!0123456789"), []rune("etaoin shrdlu"))
}()

// random makes n characters, some of them again and again.
func random(r *rand.Rand, n int) string {
	var text []rune
	for len(text) < n {
		set := alphabet[r.IntN(len(alphabet))]
		if r.IntN(3) == 0 {
			set = alphabet[len(alphabet)-1-r.IntN(2)]
		}
		for range 1 + r.IntN(6) {
			text = append(text, set[r.IntN(len(set))])
		}
		if r.IntN(10) == 0 {
			text = append(text, slices.Repeat(text[len(text)-1:], r.IntN(20))...)
		}
	}
	return string(text)
}

func FuzzAsTheLibrary(f *testing.F) {
	for _, text := range hard {
		f.Add(text)
	}
	f.Add(strings.Repeat("ab", longPiece))
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), 4096)] // the library is slow
		for _, b := range both {
			equal(t, b.ours(), b.its(), text)
		}
	})
}

func BenchmarkCount(b *testing.B) {
	texts := map[string]string{
		"prose": strings.Repeat("The quick brown fox jumps over the lazy dog, and nobody at Wolverhampton's zoo minded. ", 5000),
		"code":  strings.Repeat("func (v *Vocabulary) rankAt(m *merger, piece string, i int) uint32 {\n\tswitch n := len(m.starts); {\n", 5000),
		"cjk":   strings.Repeat("東京都は日本の首都であり、世界最大の都市のひとつである。人工智能正在改变世界。", 5000),
		"aaaa":  strings.Repeat("a", 1<<20),
	}
	for _, v := range both {
		for name, text := range texts {
			b.Run(v.name+"/"+name+"/ours", func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					v.ours().Count(text)
				}
			})
			b.Run(v.name+"/"+name+"/library", func(b *testing.B) {
				its := v.its()
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					its.Count(text)
				}
			})
		}
	}
}
