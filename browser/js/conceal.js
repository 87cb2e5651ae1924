function () {
  this.style?.setProperty("-webkit-text-security", "disc", "important");
}
