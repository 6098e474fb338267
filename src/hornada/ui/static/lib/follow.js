// A batch as it goes: told by the server's events, and by asking where there are none.
import { Refused, away, lines, send } from "./api.js";
import { live, one } from "./batch.js";
import { useEffect, useRef, useState } from "./html.js";

const ASK_MS = 1500;
const KEPT = 900;

// Calls `tell` with each event's data until the stream ends; raises what `send` raises.
async function listen(id, tell, abort) {
  const answer = await send("GET", `/batches/${encodeURIComponent(id)}/events`, {
    signal: abort,
    accept: "text/event-stream",
  });
  let data = [];
  for await (const line of lines(answer)) {
    const text = line.replace(/\r$/, "");
    if (text.startsWith("data:")) data.push(text.slice(5).trimStart());
    else if (text === "" && data.length) {
      const whole = data.join("\n");
      data = [];
      try {
        tell(JSON.parse(whole));
      } catch {
        // a piece that is no JSON tells nothing
      }
    }
  }
}

const pause = (ms, abort) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    abort.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

export function useBatch(id) {
  const [batch, setBatch] = useState(undefined);
  const [error, setError] = useState(null);
  const samples = useRef([]);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const note = (found) => {
      if (abort.signal.aborted) return;
      const { total, completed, failed } = found.request_counts;
      const at = Date.now() / 1000;
      const last = samples.current[samples.current.length - 1];
      if (total > 0 && (!last || at - last.at >= 0.4 || !live(found)))
        samples.current = [...samples.current, { at, done: completed + failed, failed, total }].slice(-KEPT);
      setBatch(found);
      setError(null);
    };
    const look = async () => {
      const found = await one(id, abort.signal);
      note(found);
      return found;
    };
    const follow = async () => {
      let streams = true;
      for (;;) {
        try {
          const found = await look();
          if (!live(found)) return;
          if (streams) {
            try {
              await listen(id, (told) => told.batch && note({ ...told.batch, hornada: told.progress }), abort.signal);
            } catch (fault) {
              if (!(fault instanceof Refused)) throw fault;
              streams = false; // an older server, or a proxy that lets no stream through
            }
          }
        } catch (fault) {
          if (abort.signal.aborted || fault.name === "AbortError") return;
          setError(fault);
          if (fault.status === 404 || fault.status === 401) return;
        }
        await pause(ASK_MS, abort.signal);
        if (abort.signal.aborted) return;
        while (document.hidden && !abort.signal.aborted) await pause(500, abort.signal);
      }
    };
    follow();
    const stop = away.watch((gone) => !gone && setTurn((each) => each + 1));
    return () => {
      abort.abort();
      stop();
    };
  }, [id, turn]);
  return { data: batch, error, samples: samples.current, reload: () => setTurn((each) => each + 1) };
}
