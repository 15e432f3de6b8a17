// Some columns are the same as others and are stored once.
function columns() {
  const twins = Object.entries(data.download.twins).map(([key, other]) => [key, data.download.columns[other]]);
  return { ...data.download.columns, ...Object.fromEntries(twins) };
}

function records() {
  const all = Object.entries(columns());
  return Array.from({ length: data.download.count }, (_, row) => {
    const record = { ...data.download.shared };
    for (const [key, column] of all) if (column[row] !== null) record[key] = column[row];
    return record;
  });
}

// "max_epsilon.0.8" was one key of "max_epsilon": keys hold dots, so only the first one parts them.
function nested(flat) {
  const record = {};
  for (const [key, value] of Object.entries(flat)) {
    const dot = key.indexOf(".");
    if (dot < 0) record[key] = value;
    else (record[key.slice(0, dot)] ??= {})[key.slice(dot + 1)] = value;
  }
  return record;
}

function asJson() {
  return JSON.stringify({ config: data.config, records: records().map(nested) }, null, 1) + "\n";
}

// A spreadsheet runs text that begins like a formula; a quote in front keeps it text.
function cell(value) {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? "'" + value : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function asCsv() {
  const heads = [...Object.keys(columns()), ...Object.keys(data.download.shared)];
  const lines = records().map((record) => heads.map((head) => cell(record[head])).join(","));
  return [heads.map(cell).join(","), ...lines].join("\n") + "\n";
}

function save(ending, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: `${data.file}.${ending}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
