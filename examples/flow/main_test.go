package main

func Example() {
	main()
	// Output:
	// finished after 2 replies: The tower is 324 metres high.
}
