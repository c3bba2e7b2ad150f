"""Attribution of a window's gaps to features; nothing but the cost is stored before its end."""
