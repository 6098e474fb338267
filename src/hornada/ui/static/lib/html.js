// Preact and its template tag under one name, so that pages import from one place.
import { h, render } from "preact";
import { useState, useEffect, useLayoutEffect, useRef, useCallback } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);
export { render };
export { useState, useEffect, useLayoutEffect, useRef, useCallback };
