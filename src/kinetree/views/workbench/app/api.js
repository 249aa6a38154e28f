// Requests to the server of the workbench, and the word to the user if it has ended.

class AskError extends Error {
  constructor(text, ended = false) {
    super(text);
    this.ended = ended;
  }
}

const ENDED = "The workbench has ended; start it again with: kinetree view";

// The answer to a request; AskError has the server's words.
async function ask(name, body = {}) {
  let response;
  try {
    response = await fetch(`api/${name}`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
    });
  } catch {
    showEnded();
    throw new AskError(ENDED, true);
  }
  let answer;
  try {
    answer = await response.json();
  } catch {
    answer = null;
  }
  if (response.ok && answer !== null) {
    byId("ended").hidden = true;
    return answer;
  }
  throw new AskError((answer && answer.error) || `The workbench refused the request (${response.status} ${response.statusText}).`);
}

function showEnded() {
  byId("ended").hidden = false;
  byId("ended-words").textContent = ENDED;
}

// Requests of which only the newest matters: one is under way, one waits, older ones are dropped.
function newestOnly(name, done, failed) {
  let waiting = null, busy = false;
  async function next() {
    if (busy || !waiting) return;
    const body = waiting;
    [busy, waiting] = [true, null];
    try {
      done(await ask(name, body), body);
    } catch (error) {
      if (!(error instanceof AskError)) throw error;
      failed(error, body);
    } finally {
      busy = false;
      next();
    }
  }
  return (body) => { waiting = body; next(); };
}

async function asBase64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let k = 0; k < bytes.length; k += 32768) text += String.fromCharCode(...bytes.subarray(k, k + 32768));
  return btoa(text);
}

function asBlob(base64, type = "application/octet-stream") {
  return new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], { type });
}
