// Preact and its template tag under one name, so that pages import from one place.
import { h, render, Fragment, createContext } from "preact";
import { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);
export { render, Fragment, createContext };
export { useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useContext, useId };
