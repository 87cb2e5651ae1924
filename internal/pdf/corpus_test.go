package pdf

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// words divides a text for comparing what two programs read: words that a hyphen
// divides at the end of a line are one, and ideographs are words of their own.
func words(text string) (all []string) {
	text = norm.NFKC.String(strings.ReplaceAll(text, "\u00ad", ""))
	var b strings.Builder
	for i, lines := 0, strings.Split(text, "\n"); i < len(lines); i++ {
		line := strings.TrimRight(lines[i], " \f")
		if i+1 < len(lines) && divided(line, lines[i+1]) {
			b.WriteString(line[:len(line)-1])
		} else {
			b.WriteString(line + "\n")
		}
	}
	for _, w := range strings.Fields(b.String()) {
		w = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) {
				return -1
			}
			return r
		}, w)
		if !isWide(w) && !strings.ContainsFunc(w, func(r rune) bool { return isWide(string(r)) }) {
			all = append(all, w)
			continue
		}
		for _, r := range w {
			all = append(all, string(r))
		}
	}
	return all
}

// share returns how many of the words of want are in got, from 0 to 1, and which are
// missing.
func share(want, got []string) (float64, []string) {
	have := make(map[string]int)
	for _, w := range got {
		have[w]++
	}
	var missing []string
	for _, w := range want {
		if have[w]--; have[w] < 0 {
			missing = append(missing, w)
		}
	}
	return 1 - float64(len(missing))/float64(max(len(want), 1)), missing
}

// TestCorpus compares what is read with what pdftotext reads: 99 of 100 words. The
// files in testdata come from many programs, see the README there. If PDF_CORPUS
// names a directory, the files there are compared too, with the pdftotext of this
// machine.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	check := func(name string, want string) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			got := readAll(t, name)
			s, missing := share(words(want), words(got))
			t.Logf("%.2f %% of %d words", 100*s, len(words(want)))
			if s < 0.99 {
				t.Errorf("missing: %q\n%s", missing, got)
			}
		})
	}
	for _, f := range files {
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		check(strings.TrimSuffix(f, ".txt")+".pdf", string(want))
	}
	dir := os.Getenv("PDF_CORPUS")
	if dir == "" {
		return
	}
	made, err := filepath.Glob(dir + "/*.pdf")
	if err != nil || len(made) == 0 {
		t.Fatal("no PDFs in", dir, err)
	}
	all, found := 0, 0.0
	for _, f := range made {
		got := readAll(t, f)
		if strings.Contains(f, "arabic") {
			sayArabic(t, f, got)
			continue
		}
		want, err := exec.Command(cmp.Or(os.Getenv("PDFTOTEXT"), "pdftotext"), f, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		// pdftotext prints a letter that it cannot name as a control character, such as the
		// ligatures of TeX's bitmap fonts: those words say nothing.
		named := slices.DeleteFunc(words(string(want)), func(w string) bool { return strings.ContainsFunc(w, unicode.IsControl) })
		s, missing := share(named, words(got))
		t.Logf("%-32s %6.2f %% of %d words", filepath.Base(f), 100*s, len(named))
		if s < 0.95 || strings.ContainsFunc(strings.Join(words(got), ""), unicode.IsControl) {
			t.Errorf("%s: missing: %q", f, missing)
		}
		all, found = all+len(named), found+s*float64(len(named))
	}
	if s := found / float64(all); s < 0.99 {
		t.Errorf("%.2f %% of all words", 100*s)
	}
}

// sayArabic checks a text in Arabic and Hebrew, which pdftotext does not read well,
// against what was written.
func sayArabic(t *testing.T, name, got string) {
	t.Helper()
	got = strings.Join(strings.Fields(got), " ")
	for _, want := range arabic {
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q is missing in\n%s", name, want, got)
		}
	}
}

var arabic = []string{"ارتفعت الإيرادات بنسبة 12 في المئة خلال الربع الأخير.",
	"ביקשו משלוחים מהירים יותר (וחשבוניות ברורות).", "An English line with שלום עולם in it, and مرحبا too."}

// readAll returns the text of all pages.
func readAll(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), data)
	if err != nil {
		t.Fatal(name, err)
	}
	var b strings.Builder
	for i := range f.NumPages() {
		p, err := f.Page(i + 1)
		if err != nil {
			t.Error(name, i+1, err)
		}
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

// TestReadingOrder: sentences stay whole, across lines, columns and cells, so that
// they can be quoted.
func TestReadingOrder(t *testing.T) {
	long := []string{
		"The quarterly review found that revenue was 42,800 dollars in June, which is 12.5 % more than in May.",
		"Costs of transport fell by a fifth, although fuel became dearer.",
		"to repay the older loan, and to hire eleven people, most of them in the workshops at the harbour.",
	}
	for name, want := range map[string][]string{
		"chromium-plain": append(long, "East Gaskets and rings 15,300 9,180", "Café – naïve – Größe – façade – “quoted” – Łódź"),
		"chromium-table": {
			"2 " + long[1] + " The difference comes from fuller vans: an average van now carries 31 parcels " +
				"instead of 24, and drives 18 kilometres less a day than it did in the spring. Accepted.",
			"4 Also short. Yes.",
		},
		"chromium-emoji":       {"Status 🚀 report", "✅ Done: The quarterly review", "people pick up. 🎉"},
		"chromium-cjk":         {"本季度的收入比上个季度增长了百分之十二。", "Mixed 中文 and English 日本語 text."},
		"chromium-arabic":      arabic,
		"chromium-columns":     append(long, "After The quarterly review"),
		"libreoffice-wordcols": long,
		"libreoffice-sheet":    {"North Pumps 1,200 48,000 South Valves 845 12,675"},
		"pdflatex-two":         append(long, "1 Introduction The quarterly review", "fewer surprises and a plain invoice"),
		"dvips-two":            append(long, "1 Introduction The quarterly review"),
		"ghostscript-groff2":   long,
		"fpdf2-doc":            append(long, "North Pumps 1,200 48,000"),
		"reportlab-doc":        append(long, "North Pumps 1,200 48,000"),
		"reportlab-cid":        {"本季度的收入比上个季度增长了百分之十二", "四半期の売上高は前年同期比で", "분기 매출은 전년 동기 대비"},
		"typst-two":            long,
		"weasyprint-plain":     append(long, "West Compressors 12 96,400"),
		"xelatex-xe":           append(long, "Café – naïve – Größe – façade – “quoted” – Łódź"),
		"matplotlib-type3":     {"Revenue by region, first efficient quarter", "North South East West", "Revenue in thousands"},
	} {
		got := strings.Join(strings.Fields(readAll(t, "testdata/"+name+".pdf")), " ")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is missing in\n%s", name, w, got)
			}
		}
	}
}

// TestEncrypted: files that open without a password are read, whatever their cipher.
func TestEncrypted(t *testing.T) {
	want := readAll(t, "../../data/document/testdata/report.pdf")
	for _, name := range []string{"rc40", "rc128", "aes128", "aes256", "objstm"} {
		if got := readAll(t, "testdata/report-"+name+".pdf"); got != want || !strings.Contains(got, "efficient figures") {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	data, err := os.ReadFile("../../data/document/testdata/encrypted.pdf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), data); !errors.Is(err, ErrPassword) {
		t.Error(err)
	}
}
