// What the browser keeps, where it lets pages keep anything; else it is kept until the page goes.
function keeper(area) {
  const spare = new Map();
  const attempt = (act, otherwise) => {
    try {
      return act(window[area]);
    } catch {
      return otherwise();
    }
  };
  return {
    get: (name) => attempt((kept) => kept.getItem(name), () => spare.get(name) ?? null),
    set: (name, text) => attempt((kept) => kept.setItem(name, text), () => spare.set(name, text)),
    drop: (name) => attempt((kept) => kept.removeItem(name), () => spare.delete(name)),
  };
}

export const device = keeper("localStorage");
export const tab = keeper("sessionStorage");
