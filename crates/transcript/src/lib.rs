mod model; mod source; mod window; mod text;
