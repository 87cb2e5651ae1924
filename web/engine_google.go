package web

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

var googleResults = selectors(
	"div.g, div.MjjYud, div.Gx5Zad, div.tF2Cxc",
	"a[href]:has(h3), a[href]:has(div.zBAuLc)",
	"h3, div.zBAuLc",
	"div.VwiC3b, div.BNeawe.s3v9rd, span.aCOpRe, div[data-sncf]")

// Google returns the engine that reads Google's page. Google answers programs
// less and less.
func Google(base string) Engine {
	return &engine{
		name: "Google",
		request: func(q Query) request {
			v := url.Values{"q": {q.Text}, "num": {strconv.Itoa(max(10, q.Count))}}
			set(v, "hl", q.Lang)
			set(v, "gl", q.Country)
			return request{address: cmp.Or(base, "https://www.google.com") + "/search", query: v}
		},
		hits: googleHits,
	}
}

// googleHits finds the hits, or the reason why there are none: a captcha, the page
// that asks for consent, or one that only works with scripts.
func googleHits(page []byte, final *url.URL) ([]Hit, error) {
	if strings.HasPrefix(final.Path, "/sorry") ||
		containsAny(page, "unusual traffic", "g-recaptcha", "/sorry/index") {
		return nil, errCaptcha
	}
	hits, err := googleResults.in(page, func(_, link *html.Node) string {
		return googleAddress(attr(link, "href"))
	})
	switch {
	case len(hits) == 0 && strings.Contains(final.Host, "consent."):
		return nil, &Limited{Why: "it wants consent before it answers"}
	case len(hits) == 0 && containsAny(page, "/httpservice/retry/enablejs", "enablejs?"):
		return nil, &Limited{Why: "it answers only to a browser with scripts"}
	}
	return hits, err
}

// googleAddress returns where a link leads: it may be a redirection that names its
// end.
func googleAddress(href string) string {
	u, err := url.Parse(href)
	if err != nil || u.Path != "/url" {
		return href
	}
	return cmp.Or(u.Query().Get("q"), u.Query().Get("url"))
}
