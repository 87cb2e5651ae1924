package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// person is what the engines' pages are asked as: they give no results to what
// calls itself a robot.
const person = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"

// ask sends a request to an engine, and reads the answer.
func ask(ctx context.Context, c *http.Client, method, address string, body any, q Query, header http.Header) (data []byte, final *url.URL, err error) {
	var from io.Reader
	if body != nil {
		j, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		from = bytes.NewReader(j)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, from)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("User-Agent", person)
	req.Header.Set("Accept-Language", language(q))
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header[k] = v
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, nil, hide(err)
	}
	defer res.Body.Close()
	data, err = io.ReadAll(io.LimitReader(res.Body, 8<<20))
	switch {
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusForbidden, res.StatusCode == http.StatusServiceUnavailable:
		return nil, nil, &Limited{Why: fmt.Sprintf("it limits us (HTTP %d)", res.StatusCode), For: retryAfter(res.Header)}
	case res.StatusCode == http.StatusUnauthorized:
		return nil, nil, &Limited{Why: "it refuses the key (HTTP 401)"}
	case res.StatusCode == http.StatusAccepted: // DuckDuckGo's way of asking for proof
		return nil, nil, &Limited{Why: "it wants proof that we are a person (HTTP 202)"}
	case res.StatusCode/100 != 2:
		return nil, nil, fmt.Errorf("HTTP %d", res.StatusCode)
	}
	return data, res.Request.URL, err
}

// hide is err without the address, which may have a key in it.
func hide(err error) error {
	if ue, ok := err.(*url.Error); ok {
		return ue.Err
	}
	return err
}

func language(q Query) string {
	if q.Lang == "" {
		return "en"
	}
	if q.Country == "" {
		return q.Lang
	}
	return q.Lang + "-" + strings.ToUpper(q.Country) + "," + q.Lang + ";q=0.9"
}

// A selector of results: each item has a link, and text.
type results struct{ item, link, title, text cascadia.Selector }

func sel(item, link, title, text string) results {
	return results{cascadia.MustCompile(item), cascadia.MustCompile(link), cascadia.MustCompile(title), cascadia.MustCompile(text)}
}

// in finds the results on a page; address makes what it leads to of a link.
func (r results) in(data []byte, address func(item, link *html.Node) string) ([]Hit, error) {
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for _, item := range cascadia.QueryAll(doc, r.item) {
		link := cascadia.Query(item, r.link)
		if link == nil {
			continue
		}
		h := Hit{URL: address(item, link), Title: textOf(link)}
		if t := cascadia.Query(item, r.title); t != nil {
			h.Title = textOf(t)
		}
		if t := cascadia.Query(item, r.text); t != nil {
			h.Description = textOf(t)
		}
		hits = append(hits, h)
	}
	return hits, nil
}

// proof reports whether a page asks for proof that we are a person.
func proof(data []byte, marks ...string) bool {
	for _, m := range marks {
		if bytes.Contains(data, []byte(m)) {
			return true
		}
	}
	return false
}

var errProof = &Limited{Why: "it wants proof that we are a person (a captcha)"}

// DuckDuckGo is asked by its page without scripts.
type DuckDuckGo struct{ Base string }

var duckResults = sel(".result:not(.result--ad)", "a.result__a[href]", "a.result__a", ".result__snippet")

// Name implements [Engine].
func (*DuckDuckGo) Name() string { return "DuckDuckGo" }

// Search implements [Engine].
func (e *DuckDuckGo) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	v := url.Values{"q": {q.Text}}
	if q.Lang != "" && q.Country != "" {
		v.Set("kl", q.Country+"-"+q.Lang)
	}
	data, _, err := ask(ctx, c, http.MethodGet, cmp.Or(e.Base, "https://html.duckduckgo.com")+"/html/?"+v.Encode(), nil, q, nil)
	if err != nil {
		return nil, err
	}
	if proof(data, "anomaly-modal", "anomaly.js", "challenge-form") {
		return nil, errProof
	}
	return duckResults.in(data, func(_, link *html.Node) string {
		u, err := url.Parse(attr(link, "href"))
		if err == nil && u.Query().Get("uddg") != "" {
			return u.Query().Get("uddg")
		}
		return attr(link, "href")
	})
}

// Bing is asked by its page.
type Bing struct{ Base string }

var bingResults = sel("li.b_algo", "h2 a[href]", "h2", ".b_caption p, p.b_lineclamp2, p")

// Name implements [Engine].
func (*Bing) Name() string { return "Bing" }

// Search implements [Engine].
func (e *Bing) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	v := url.Values{"q": {q.Text}, "count": {strconv.Itoa(max(10, q.Count))}}
	if q.Lang != "" {
		v.Set("setlang", q.Lang)
	}
	if q.Country != "" {
		v.Set("cc", strings.ToUpper(q.Country))
	}
	data, _, err := ask(ctx, c, http.MethodGet, cmp.Or(e.Base, "https://www.bing.com")+"/search?"+v.Encode(), nil, q, nil)
	if err != nil {
		return nil, err
	}
	hits, err := bingResults.in(data, func(_, link *html.Node) string { return bingAddress(attr(link, "href")) })
	if len(hits) == 0 && proof(data, "captcha", "CfConfig", "One last step") {
		return nil, errProof
	}
	return hits, err
}

// bingAddress is where a link of Bing's leads: it is in the link, in base64.
func bingAddress(href string) string {
	u, err := url.Parse(href)
	if err != nil || !strings.HasPrefix(u.Path, "/ck/") {
		return href
	}
	to, ok := strings.CutPrefix(u.Query().Get("u"), "a1")
	if !ok {
		return href
	}
	if data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(to, "=")); err == nil {
		return string(data)
	}
	return href
}

// Google is asked by its page, which answers a program less and less.
type Google struct{ Base string }

var googleResults = sel("div.g, div.MjjYud, div.Gx5Zad, div.tF2Cxc", "a[href]:has(h3), a[href]:has(div.zBAuLc)", "h3, div.zBAuLc", "div.VwiC3b, div.BNeawe.s3v9rd, span.aCOpRe, div[data-sncf]")

// Name implements [Engine].
func (*Google) Name() string { return "Google" }

// Search implements [Engine].
func (e *Google) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	v := url.Values{"q": {q.Text}, "num": {strconv.Itoa(max(10, q.Count))}}
	if q.Lang != "" {
		v.Set("hl", q.Lang)
	}
	if q.Country != "" {
		v.Set("gl", q.Country)
	}
	data, final, err := ask(ctx, c, http.MethodGet, cmp.Or(e.Base, "https://www.google.com")+"/search?"+v.Encode(), nil, q, nil)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(final.Path, "/sorry") || proof(data, "unusual traffic", "g-recaptcha", "/sorry/index") {
		return nil, errProof
	}
	hits, err := googleResults.in(data, func(_, link *html.Node) string {
		u, err := url.Parse(attr(link, "href"))
		if err == nil && u.Path == "/url" {
			return cmp.Or(u.Query().Get("q"), u.Query().Get("url"))
		}
		return attr(link, "href")
	})
	switch {
	case len(hits) == 0 && strings.Contains(final.Host, "consent."):
		return nil, &Limited{Why: "it wants consent before it answers"}
	case len(hits) == 0 && proof(data, "/httpservice/retry/enablejs", "enablejs?"):
		return nil, &Limited{Why: "it answers only to a browser with scripts"}
	}
	return hits, err
}

// Baidu is asked by its page.
type Baidu struct{ Base string }

var baiduResults = sel("div.result, div.c-container", "h3 a[href]", "h3", ".c-abstract, .content-right_8Zs40, [class*=content-right], .c-span-last")

// Name implements [Engine].
func (*Baidu) Name() string { return "Baidu" }

// Search implements [Engine].
func (e *Baidu) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	v := url.Values{"wd": {q.Text}, "rn": {strconv.Itoa(max(10, q.Count))}, "ie": {"utf-8"}}
	data, final, err := ask(ctx, c, http.MethodGet, cmp.Or(e.Base, "https://www.baidu.com")+"/s?"+v.Encode(), nil, q, nil)
	if err != nil {
		return nil, err
	}
	if strings.Contains(final.Host, "wappass") || proof(data, "百度安全验证", "wappass.baidu.com/static/captcha") {
		return nil, errProof
	}
	return baiduResults.in(data, func(item, link *html.Node) string {
		if mu := attr(item, "mu"); strings.HasPrefix(mu, "http") {
			return mu // the page itself; the link leads there by way of Baidu
		}
		return attr(link, "href")
	})
}

// SearXNG is a search engine that one runs oneself; it has to allow JSON.
type SearXNG struct{ Base string }

// Name implements [Engine].
func (*SearXNG) Name() string { return "SearXNG" }

// Search implements [Engine].
func (e *SearXNG) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	v := url.Values{"q": {q.Text}, "format": {"json"}}
	if q.Lang != "" {
		v.Set("language", q.Lang)
	}
	data, _, err := ask(ctx, c, http.MethodGet, strings.TrimSuffix(e.Base, "/")+"/search?"+v.Encode(), nil, q, nil)
	if err != nil {
		return nil, err
	}
	var res struct {
		Results []struct{ URL, Title, Content string }
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return nil, fmt.Errorf("it answers, but not with JSON: allow the format json in its settings")
	}
	var hits []Hit
	for _, r := range res.Results {
		hits = append(hits, Hit{URL: r.URL, Title: r.Title, Description: r.Content})
	}
	return hits, nil
}

// Brave is Brave's API.
type Brave struct{ Base, Key string }

// Name implements [Engine].
func (*Brave) Name() string { return "Brave" }

// Search implements [Engine].
func (e *Brave) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	v := url.Values{"q": {q.Text}, "count": {strconv.Itoa(min(20, max(1, q.Count)))}}
	if q.Lang != "" {
		v.Set("search_lang", q.Lang)
	}
	if q.Country != "" {
		v.Set("country", strings.ToUpper(q.Country))
	}
	data, _, err := ask(ctx, c, http.MethodGet, cmp.Or(e.Base, "https://api.search.brave.com")+"/res/v1/web/search?"+v.Encode(), nil, q, http.Header{"X-Subscription-Token": {e.Key}})
	if err != nil {
		return nil, err
	}
	var res struct {
		Web struct {
			Results []struct{ URL, Title, Description string }
		}
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range res.Web.Results {
		hits = append(hits, Hit{URL: r.URL, Title: plainText(r.Title), Description: plainText(r.Description)})
	}
	return hits, nil
}

// plainText is text that has tags in it, without them.
func plainText(s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	n, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return s
	}
	return textOf(n)
}

// Tavily is Tavily's API.
type Tavily struct{ Base, Key string }

// Name implements [Engine].
func (*Tavily) Name() string { return "Tavily" }

// Search implements [Engine].
func (e *Tavily) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	body := map[string]any{"query": q.Text, "max_results": max(1, q.Count)}
	data, _, err := ask(ctx, c, http.MethodPost, cmp.Or(e.Base, "https://api.tavily.com")+"/search", body, q, http.Header{"Authorization": {"Bearer " + e.Key}})
	if err != nil {
		return nil, err
	}
	var res struct {
		Results []struct{ URL, Title, Content string }
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range res.Results {
		hits = append(hits, Hit{URL: r.URL, Title: r.Title, Description: r.Content})
	}
	return hits, nil
}

// Serper is Serper's API, which asks Google.
type Serper struct{ Base, Key string }

// Name implements [Engine].
func (*Serper) Name() string { return "Serper" }

// Search implements [Engine].
func (e *Serper) Search(ctx context.Context, c *http.Client, q Query) ([]Hit, error) {
	body := map[string]any{"q": q.Text, "num": max(1, q.Count)}
	if q.Lang != "" {
		body["hl"] = q.Lang
	}
	if q.Country != "" {
		body["gl"] = q.Country
	}
	data, _, err := ask(ctx, c, http.MethodPost, cmp.Or(e.Base, "https://google.serper.dev")+"/search", body, q, http.Header{"X-Api-Key": {e.Key}})
	if err != nil {
		return nil, err
	}
	var res struct {
		Organic []struct{ Link, Title, Snippet string }
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return nil, err
	}
	var hits []Hit
	for _, r := range res.Organic {
		hits = append(hits, Hit{URL: r.Link, Title: r.Title, Description: r.Snippet})
	}
	return hits, nil
}
