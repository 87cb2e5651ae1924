// Package insight finds what is remarkable in data by calculation: trends,
// seasons, outliers, turning points, volatility, correlations, dominant shares
// and differences between groups. Each [Insight] has a sentence, the numbers
// behind it, a p-value where a test applies, and the marks that a chart draws
// for it.
//
//	for _, i := range insight.Find(set, "en") {
//		fmt.Println(i.ID, i.Text)
//	}
//
// [Find] is deterministic and never fails: what cannot be computed is not
// found. The tests are chosen so that hardly anything is found in noise.
//
// The statistics are exported too, as functions of plain slices. They do not
// accept missing values (NaN): leave them out first.
package insight
