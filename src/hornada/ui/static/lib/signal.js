// A value that several places look at; whoever looks is told of each change.
import { useEffect, useState } from "./html.js";

export function signal(value) {
  const watchers = new Set();
  return {
    get value() {
      return value;
    },
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const watcher of [...watchers]) watcher(next);
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}

export function useSignal(from) {
  const [value, set] = useState(from.value);
  useEffect(() => {
    set(from.value);
    return from.watch(set);
  }, [from]);
  return value;
}
