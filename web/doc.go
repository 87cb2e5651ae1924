// Package web finds and reads what is on the web, without a browser. It provides
// the tools web_search, web_fetch, crawl and research.
//
//	reader := &web.Reader{Client: dialer.Client(), Robots: true}
//	page, err := reader.Read(ctx, "https://example.com/")
//	fmt.Println(page.Title, page.Markdown)
//
// A [Reader] fetches addresses and makes a [Page] of what they answer: HTML,
// text, JSON, CSV, images, and documents if it can convert them. A [Searcher]
// asks search engines, one after the other until one answers; each [Engine] has a
// file of its own. [NewResearch] keeps notes whose quotations are checked word
// for word against the pages that were read.
//
// Everything that is read comes from outside: results name their source, and the
// bytes of a page are kept as a blob, so that what was read can be checked later.
package web
