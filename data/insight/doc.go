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
// # Methods
//
// What is looked for depends on the [Shape] of a set. Series are examined one by
// one, without missing values; the number in brackets is how many values a method
// needs.
//
//	Trend         Course      [6]   Mann-Kendall, the slope of Theil and Sen
//	Seasonality   Course, Time [12] decomposition, Kruskal-Wallis at 1 %, strength >= 0.3
//	TurningPoint  Course      [16]  a broken line against a straight one, F-test at 1 %
//	Volatility    Course, Time [20] changes as shares, Brown-Forsythe; values well above 0
//	Outliers      Course      [12]  4.5 robust deviations from trend and season, or from
//	                                the running median
//	Outliers      the others  [8]   4.5 robust deviations from the median
//	Majority      Categories  [2]   half of the total, or 80 % by a third of the categories
//	Correlation   Cloud; pairs of the series of a Course or of Categories [5]
//	                                Pearson and Spearman
//	Difference    Groups      [2 groups of 2] Kruskal-Wallis and Brown-Forsythe
//	Extremes      Course, Categories [3] the highest and the lowest value
//	Summary       all         [1]   mean, median, quartiles, range
//
// Tests are at 5 % unless the table says otherwise. Three corrections keep noise
// from being found remarkable:
//
//   - the p-value of a trend counts as many independent values as the residuals
//     are worth, by the correlation of each with the one before (Bayley and
//     Hammersley 1946), because values along time resemble their neighbours;
//   - the p-value of a turning point is multiplied by the places that were tried,
//     up to 50 (Bonferroni), and its degrees of freedom are corrected likewise;
//   - a value is no outlier if more than a twentieth of all would be one: that is
//     a distribution with long tails.
//
// # The statistics
//
// The statistics are exported too, as functions of plain slices. They do not
// accept missing values (NaN): leave them out first.
package insight
