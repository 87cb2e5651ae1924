package web

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

var baiduResults = selectors("div.result, div.c-container", "h3 a[href]", "h3",
	".c-abstract, .content-right_8Zs40, [class*=content-right], .c-span-last")

// Baidu returns the engine that reads Baidu's result page. base replaces the address of
// Baidu, for tests; "": the real one. A captcha is an error, so that the next engine is
// asked.
func Baidu(base string) Engine {
	return &engine{
		name: "Baidu",
		request: func(q Query) request {
			v := url.Values{"wd": {q.Text}, "rn": {strconv.Itoa(max(10, q.Count))}, "ie": {"utf-8"}}
			return request{address: cmp.Or(base, "https://www.baidu.com") + "/s", query: v}
		},
		hits: func(page []byte, final *url.URL) ([]Hit, error) {
			if strings.Contains(final.Host, "wappass") ||
				containsAny(page, "百度安全验证", "wappass.baidu.com/static/captcha") {
				return nil, errCaptcha
			}
			return baiduResults.in(page, func(item, link *html.Node) string {
				if mu := attr(item, "mu"); strings.HasPrefix(mu, "http") {
					return mu // the page itself; the link is a redirection that hides it
				}
				return attr(link, "href")
			})
		},
	}
}
