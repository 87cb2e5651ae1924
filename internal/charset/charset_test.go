package charset_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/openmanus-go/openmanus/internal/charset"
	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

// texts are short, as cells and titles are, in the sets in which such texts are found.
var texts = []struct{ text, sets string }{
	{"名前,年齢,都市\n田中太郎,34,札幌\n佐藤花子,28,東京\n", "shift_jis euc-jp iso-2022-jp"},
	{"これはテストです。", "shift_jis euc-jp iso-2022-jp"},
	{"姓名,城市\n张伟,北京\n王芳,上海\n", "gb18030"},
	{"姓名,城市\n張偉,臺北\n王芳,高雄\n", "big5"},
	{"이름,도시\n김철수,서울\n이영희,부산\n", "euc-kr"},
	{"Имя,Город\nИван,Москва\nОльга,Санкт-Петербург\n", "windows-1251 koi8-r ibm866 iso-8859-5 x-mac-cyrillic"},
	{"Привіт, як справи? Їжак іде до лісу.", "windows-1251 koi8-u"},
	{"Здравей, свят. Това е проба на български език.", "windows-1251"},
	{"Καλημέρα κόσμε, τι κάνεις;", "iso-8859-7 windows-1253"},
	{"שלום עולם, מה שלומך היום", "windows-1255 iso-8859-8"},
	{"مرحبا بالعالم كيف حالك اليوم", "windows-1256 iso-8859-6"},
	{"สวัสดีชาวโลก วันนี้อากาศดี", "windows-874"},
	{"Grüße aus Köln, schöne Straße", "windows-1252 iso-8859-15"},
	{"Le café coûte 3 € à l'été, où ça ?", "windows-1252 iso-8859-15"},
	{"¿Dónde está la niña? Mañana por la mañana.", "windows-1252"},
	{"Não há informação, só coração e maçã.", "windows-1252"},
	{"Räksmörgås på fönsterbrädan i Malmö", "windows-1252"},
	{"Þórður fór í bæinn í gær", "windows-1252"},
	{"Perché la città è così bella? Però più", "windows-1252"},
	{"“Smart quotes” — and an ellipsis… it’s", "windows-1252"},
	{"Preis: 5 €; 10 €", "windows-1252"},
	{"Name;Stadt\nMüller;Bonn\n", "windows-1252"},
	{"Ärger", "windows-1252"},
	{"25 °C, 3 £, § 5", "windows-1252"},
	{"Imię,Miasto\nŁukasz,Łódź\nŻaneta,Gdańsk\nŚwięty,Poznań\n", "iso-8859-2 windows-1250"},
	{"Jméno,Město\nŽofie,Plzeň\nŘehoř,Děčín\n", "iso-8859-2 windows-1250"},
	{"Jméno,Město\nŽofie,Plzeň\nŁukasz,Łódź\n", "iso-8859-2 windows-1250"},
	{"Árvíztűrő tükörfúrógép, őszi eső", "iso-8859-2 windows-1250"},
	{"Čeští i žáci, šťastní", "windows-1250 iso-8859-2"},
	{"İstanbul'da güzel bir gün, çok şükür, ağaç ışık", "iso-8859-9 windows-1254"},
	{"Ačiū labai, šiandien žiema, ąžuolas", "windows-1257"},
	{"größer als 東京, Привет", "utf-8"},
}

// A text that declares nothing is read in its set, however short it is, and the note says
// that the set is a guess.
func TestGuess(t *testing.T) {
	for _, c := range texts {
		for name := range strings.FieldsSeq(c.sets) {
			for _, times := range []int{1, 3, 50} {
				want := strings.Repeat(c.text, times)
				got, err := charset.Decode(in(t, want, name), "", "")
				if err != nil {
					t.Fatal(err)
				}
				if string(got.UTF8) != want {
					t.Errorf("%s in %s, %d times, was read in %s: %.60q", c.text, name, times, got.Set, got.UTF8)
				}
				if note := got.Note(); (note == "") != (name == "utf-8") {
					t.Errorf("%s in %s: the note is %q", c.text, name, note)
				}
			}
		}
	}
}

// in returns a text in a set.
func in(t *testing.T, text, set string) []byte {
	t.Helper()
	e, err := htmlindex.Get(set)
	if err != nil {
		t.Fatal(err)
	}
	data, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A set that is declared, told or marked comes before any guess, and the note says what is not right.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name, data, told, declared string
		want, set, note            string
	}{
		{"UTF-8", "größer", "", "", "größer", "utf-8", ""},
		{"a mark of UTF-8", "\ufeffa;b", "", "", "a;b", "utf-8", ""},
		{"a mark is stronger than what is declared", "\xef\xbb\xbfö", "", "iso-8859-1", "ö", "utf-8", ""},
		{"UTF-16", "\xff\xfeA\x00\xf6\x00", "", "", "Aö", "utf-16le", ""},
		{"UTF-16, and the other end first", "\xfe\xff\x00A\x00\xf6", "", "", "Aö", "utf-16be", ""},
		{"UTF-32", "\xff\xfe\x00\x00A\x00\x00\x00", "", "", "A", "utf-32le", ""},
		{"UTF-16 without a mark", "N\x00a\x00m\x00e\x00;\x00O\x00r\x00t\x00", "", "", "Name;Ort", "utf-16le", "a guess"},
		{"declared", "J\xfcrgen", "", "ISO-8859-1", "Jürgen", "windows-1252", ""},
		{"declared as only programs call it", "\x93\xfa\x96{", "", "CP932", "日本", "shift_jis", ""},
		{"declared as it is not called", "J\xfcrgen M\xfcller", "", "x-nothing", "Jürgen Müller", "windows-1252", `"x-nothing", which is unknown; the text is not UTF-8 and was read as windows-1252, a guess`},
		{"declared UTF-8, and is not", "J\xfcrgen M\xfcller", "", "utf-8", "Jürgen Müller", "windows-1252", "a guess"},
		{"told", "\xc8\xec\xff", "cp1251", "iso-8859-1", "Имя", "windows-1251", ""},
		{"told what it is not", "\xff\xff\xff", "shift_jis", "", "\ufffd\ufffd\ufffd", "shift_jis", "3 places of the text are no characters of shift_jis"},
		{"UTF-8 with one bad byte", strings.Repeat("größer ", 60) + "\xff", "", "", strings.Repeat("größer ", 60) + "\ufffd", "utf-8", "1 places of the text are no characters of utf-8"},
		{"UTF-8 that is cut off", strings.Repeat("größer ", 60) + "\xc3", "", "", strings.Repeat("größer ", 60) + "\ufffd", "utf-8", "1 places"},
		{"a page whose head is ASCII", strings.Repeat("<p>plain</p>\n", 200) + "Привет", "", "", strings.Repeat("<p>plain</p>\n", 200) + "Привет", "utf-8", ""},
		{"empty", "", "", "", "", "utf-8", ""},
	} {
		got, err := charset.Decode([]byte(c.data), c.told, c.declared)
		if err != nil || string(got.UTF8) != c.want || got.Set != c.set {
			t.Errorf("%s: %q in %s, %v; want %q in %s", c.name, got.UTF8, got.Set, err, c.want, c.set)
		}
		if note := got.Note(); (c.note == "") != (note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%s: the note is %q", c.name, note)
		}
	}
	if _, err := charset.Decode([]byte("a"), "klingon", ""); err == nil || !strings.Contains(err.Error(), `"klingon" is no character set`) {
		t.Errorf("a set that is told and unknown: %v", err)
	}
}

// Pages and XML declare their set in more than one way.
func TestDeclared(t *testing.T) {
	for _, c := range []struct{ data, contentType, want string }{
		{`<meta charset="koi8-r">`, "", "koi8-r"},
		{`<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">`, "", "shift_jis"},
		{`<p>`, "text/html; charset=windows-1251", "windows-1251"},
		{`<p>`, "text/html", ""},
		{`<?xml version="1.0" encoding="ISO-8859-2"?><html/>`, "", "ISO-8859-2"},
		{strings.Repeat("<script>a()</script>", 200) + `<meta charset="koi8-r">`, "", "koi8-r"},
		{strings.Repeat(" ", 20_000) + `<meta charset="koi8-r">`, "", ""},
		{`<meta name="description" content="charset=koi8-r"><meta charset="utf-16">`, "", "utf-8"},
	} {
		if got := charset.OfPage([]byte(c.data), c.contentType); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.data, c.contentType, got, c.want)
		}
	}
	if got := charset.OfXML([]byte("<a encoding='x'/>")); got != "" {
		t.Errorf("an attribute is no declaration: %q", got)
	}
	if got := charset.OfType(`text/csv; charset="utf-16"`); got != "utf-16" {
		t.Errorf("a type: %q", got)
	}
}

func TestIsBinary(t *testing.T) {
	for data, want := range map[string]bool{
		"text": false, "": false, "a\x00b": true, "\xff\xfea\x00": false, "a\x00b\x00c\x00d\x00e\x00": false,
		"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00": true, "\x00\x01\x02\x03": true,
	} {
		if got := charset.IsBinary([]byte(data)); got != want {
			t.Errorf("%q: %v", data, got)
		}
	}
}

// Whatever the bytes are, and whatever they are said to be, the text is UTF-8.
func FuzzDecode(f *testing.F) {
	for _, c := range texts {
		f.Add([]byte(c.text), "", "")
	}
	f.Add([]byte("\xff\xfea"), "utf-16", "x")
	f.Add([]byte("\x1b$B"), "", "iso-2022-jp")
	f.Fuzz(func(t *testing.T, data []byte, told, declared string) {
		got, err := charset.Decode(data, told, declared)
		if err != nil {
			return
		}
		if !utf8.Valid(got.UTF8) {
			t.Fatalf("%q is not UTF-8", got.UTF8)
		}
		if !utf8.Valid(data) && !got.Guessed && got.Lost == 0 && told == "" && declared == "" && got.Note() == "" && len(data) > 3 && data[0] < 0xef {
			t.Fatalf("%q was read as %s without a word", data, got.Set)
		}
	})
}
