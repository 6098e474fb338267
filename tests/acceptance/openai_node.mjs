// What openai-node's users do, in one go. Run as: node openai_node.mjs FOLDER_WITH_NODE_MODULES BASE KEY MODEL LARGE_BYTES
// Prints one line of JSON: how many checks there were, and those that failed.
import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const [folder, baseURL, apiKey, model, largeBytes] = process.argv.slice(2);
const module = await import(pathToFileURL(createRequire(folder + '/').resolve('openai')));
const { default: OpenAI, toFile } = module;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const endpoint = '/v1/chat/completions';
const failures = [];
let checks = 0;

function check(name, ok, seen) {
  checks += 1;
  if (!ok) failures.push(`${name}: ${JSON.stringify(seen)?.slice(0, 300)}`);
}
async function section(name, body) {
  try { await body(); } catch (error) { check(name, false, String(error.stack ?? error)); }
}
async function raises(name, kind, status, call) {
  try { check(name, false, await call()); } catch (error) {
    check(name, error instanceof kind && error.status === status && !!error.error?.message && !!error.requestID, String(error));
  }
}
const mark = () => Math.random().toString(36).slice(2);
const line = (id, more = {}) => ({ custom_id: id, method: 'POST', url: endpoint,
  body: { model, messages: [{ role: 'user', content: `${mark()} ${id}` }], max_tokens: 8, ...more } });
const jsonl = lines => Buffer.from(lines.map(each => JSON.stringify(each) + '\n').join(''));
const upload = async lines => client.files.create({ file: await toFile(jsonl(lines), 'in.jsonl'), purpose: 'batch' });
const create = file => client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h' });
async function finished(batch) {
  while (!['completed', 'failed', 'expired', 'cancelled'].includes(batch.status)) {
    await new Promise(resolve => setTimeout(resolve, 100));
    batch = await client.batches.retrieve(batch.id);
  }
  return batch;
}
const rows = async id => (await (await client.files.content(id)).text()).trim().split('\n').map(row => JSON.parse(row));

await section('life', async () => {
  const lines = ['a', 'b', 'c'].map(id => line(id));
  const file = await upload([...lines, line('bad', { max_tokens: 'many' })]);
  check('file', file.object === 'file' && file.filename === 'in.jsonl' && file.purpose === 'batch', file);
  check('processed', (await client.files.waitForProcessing?.(file.id) ?? file).status === 'processed', file);
  const batch = await finished(await client.batches.create({ input_file_id: file.id, endpoint, completion_window: '24h',
    metadata: { suite: 'node' } }));
  check('completed', batch.status === 'completed' && batch.request_counts.completed === 3, batch);
  check('metadata', batch.metadata.suite === 'node', batch);
  const [good, bad] = [await rows(batch.output_file_id), await rows(batch.error_file_id)];
  check('output', good.map(row => row.custom_id).join() === 'a,b,c', good);
  check('usage', good.every(row => row.response.body.usage.total_tokens > 0), good);
  check('error', bad.length === 1 && bad[0].custom_id === 'bad' && bad[0].response.status_code === 400, bad);
  check('retrieve', (await client.files.retrieve(batch.output_file_id)).purpose === 'batch_output', batch);
  check('delete', (await client.files.delete(file.id)).deleted === true, file);
  await raises('deleted', OpenAI.NotFoundError, 404, () => client.files.retrieve(file.id));
});
await section('ways to upload', async () => {
  const data = jsonl([line('streamed')]);
  const path = join(tmpdir(), `hornada-${mark()}.jsonl`);
  await writeFile(path, data);
  const sources = {
    'read stream': () => createReadStream(path),
    'file from a stream': () => toFile(Readable.from([jsonl([line('x')])]), 'x.jsonl'),
    'File': () => new File([jsonl([line('y')])], 'y.jsonl'),
    'no name': () => toFile(jsonl([line('z')])),
  };
  for (const [name, source] of Object.entries(sources)) {
    const file = await client.files.create({ file: await source(), purpose: 'batch' });
    check(name, file.status === 'processed' && file.bytes > 50, file);
  }
  const kept = await client.files.create({ purpose: 'batch', file: createReadStream(path),
    expires_after: { anchor: 'created_at', seconds: 3600 } });
  check('bytes', Buffer.from(await (await client.files.content(kept.id)).arrayBuffer()).equals(data), kept);
  await raises('empty', OpenAI.BadRequestError, 400, async () =>
    client.files.create({ file: await toFile(Buffer.alloc(0), 'e.jsonl'), purpose: 'batch' }));
  await raises('a buffer, which goes as one field for each byte', OpenAI.BadRequestError, 400, () =>
    client.files.create({ file: jsonl([line('b')]), purpose: 'batch' }));
  await raises('wrong purpose', OpenAI.BadRequestError, 400, async () =>
    client.files.create({ file: createReadStream(path), purpose: 'vision' }));
});
await section('too large', async () => {
  const block = Buffer.alloc(1 << 20, 120);
  const pieces = Number(largeBytes) / block.length + 1;
  const source = Readable.from((function* () { for (let n = 0; n < pieces; n += 1) yield block; })());
  source.path = 'large.jsonl';
  await raises('413', OpenAI.APIError, 413, () => client.files.create({ file: source, purpose: 'batch' }));
});
await section('uploads', async () => {
  const data = jsonl([line('u-1'), line('u-2')]);
  const upload = await client.uploads.create({ bytes: data.length, filename: 'u.jsonl', mime_type: 'application/jsonl',
    purpose: 'batch' });
  const parts = [];
  for (const piece of [data.subarray(60), data.subarray(0, 60)]) {
    parts.unshift((await client.uploads.parts.create(upload.id, { data: await toFile(piece, 'part') })).id);
  }
  const done = await client.uploads.complete(upload.id, { part_ids: parts });
  check('completed upload', done.status === 'completed' && done.file.bytes === data.length, done);
  check('joined', (await (await client.files.content(done.file.id)).text()) === data.toString(), done);
  const other = await client.uploads.create({ bytes: 1, filename: 'u.jsonl', mime_type: 'x/y', purpose: 'batch' });
  check('cancelled upload', (await client.uploads.cancel(other.id)).status === 'cancelled', other);
});
await section('lists', async () => {
  const made = [];
  for (let n = 0; n < 3; n += 1) made.unshift((await create(await upload([line(`p-${n}`)]))).id);
  const seen = [];
  for await (const batch of client.batches.list({ limit: 2 })) seen.push(batch.id);
  check('batches', seen.slice(0, 3).join() === made.join() && new Set(seen).size === seen.length, seen);
  const files = [];
  for await (const file of client.files.list({ limit: 3 })) files.push(file.id);
  check('files', files.length > 6 && new Set(files).size === files.length, files);
  const models = [];
  for await (const each of client.models.list()) models.push(each.id);
  check('models', models.includes(model) && (await client.models.retrieve(model)).id === model, models);
});
await section('cancel', async () => {
  const file = await upload(Array.from({ length: 200 }, (_, n) => line(`c-${n}`, { max_tokens: 64 })));
  const batch = await client.batches.cancel((await create(file)).id);
  check('cancelling', ['cancelling', 'cancelled'].includes(batch.status), batch);
  check('cancelled', (await finished(batch)).status === 'cancelled', batch);
  await raises('again', OpenAI.BadRequestError, 400, () => client.batches.cancel(batch.id));
});
await section('refusals', async () => {
  await raises('unknown batch', OpenAI.NotFoundError, 404, () => client.batches.retrieve('batch_none'));
  await raises('wrong key', OpenAI.AuthenticationError, 401, () => client.withOptions({ apiKey: 'sk-wrong' }).models.list());
  const file = await upload([line('w')]);
  await raises('window', OpenAI.BadRequestError, 400, () =>
    client.batches.create({ input_file_id: file.id, endpoint, completion_window: '1h' }));
});
await section('regular calls', async () => {
  const asked = { model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 4 };
  check('answer', (await client.chat.completions.create(asked)).usage.total_tokens > 0);
  let chunks = 0;
  for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) chunks += chunk ? 1 : 0;
  check('stream', chunks > 1, chunks);
});
console.log(JSON.stringify({ checks, failures }));
