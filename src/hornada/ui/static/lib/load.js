// Loads what a page shows, keeps it fresh, and loads it again when the server is back.
import { away } from "./api.js";
import { useCallback, useEffect, useRef, useState } from "./html.js";

const UNLOADED = { data: undefined, error: null, loading: true };

// `load(abort)` gives the data; `every(data)` the milliseconds until it is loaded again, 0 for never.
export function useLoad(load, deps, every = () => 0) {
  const [state, set] = useState(UNLOADED);
  const again = useRef(() => {});
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    let busy = false;
    const once = async () => {
      if (busy || abort.signal.aborted) return;
      clearTimeout(timer);
      busy = true;
      let wait = 0;
      try {
        const data = await load(abort.signal);
        if (abort.signal.aborted) return;
        set({ data, error: null, loading: false });
        wait = every(data);
      } catch (error) {
        if (abort.signal.aborted || error.name === "AbortError") return;
        set((before) => ({ ...before, error, loading: false }));
        wait = error.status === 429 ? 15_000 : every(undefined);
      } finally {
        busy = false;
      }
      if (wait) timer = setTimeout(() => (document.hidden ? undefined : once()), wait);
    };
    again.current = once;
    const shown = () => !document.hidden && every(undefined) && once();
    document.addEventListener("visibilitychange", shown);
    const stop = away.watch((gone) => !gone && once());
    once();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
      stop();
    };
  }, deps);
  return { ...state, reload: useCallback(() => again.current(), []) };
}

// Pages of a list, each behind the last item of the one before.
export function usePages(loadPage, deps, every = () => 0) {
  const [cursors, setCursors] = useState([null]);
  const after = cursors[cursors.length - 1];
  const known = useRef(JSON.stringify(deps));
  const fresh = known.current === JSON.stringify(deps);
  const shown = fresh ? after : null;
  useEffect(() => {
    if (!fresh) {
      known.current = JSON.stringify(deps);
      setCursors([null]);
    }
  });
  const page = useLoad((abort) => loadPage(shown, abort), [...deps, shown], every);
  return {
    ...page,
    items: page.data?.data ?? [],
    more: Boolean(page.data?.has_more),
    number: cursors.length,
    next: () => setCursors((all) => [...all, page.data.last_id]),
    back: () => setCursors((all) => (all.length > 1 ? all.slice(0, -1) : all)),
  };
}
