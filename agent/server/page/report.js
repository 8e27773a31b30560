// The form for a report that is to be checked: it is pasted, chosen as a file, or dropped.

const LARGEST = 8_000_000; // bytes of a file; in base64 they fit into a request

/** `check` gets what to send. */
export class CheckForm {
  constructor(form, { check, showFault }) {
    this.form = form;
    this.showFault = showFault;
    this.text = form.elements.report;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const report = this.text.value.trim();
      if (report) check(this.#ask({ report }));
      else this.#refuse("Paste a report first, or choose its file.");
    });
    this.check = check;
  }

  /** Check the file that was chosen or dropped. */
  take([file]) {
    return this.#read(file).then(this.check, ({ message }) => this.#refuse(message));
  }

  #ask(report) {
    const { search, archive } = this.form.elements;
    return { ...report, search: search.checked, archive: archive.checked || null };
  }

  #refuse(message) {
    this.showFault(message);
    this.text.focus();
  }

  async #read(file) {
    if (file.size > LARGEST) throw new Error("The file is larger than 8 MB.");
    const bytes = new Uint8Array(await file.arrayBuffer());
    const pieces = [];
    for (let at = 0; at < bytes.length; at += 0x8000) {
      pieces.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
    }
    return this.#ask({ report: btoa(pieces.join("")), encoding: "base64", name: file.name });
  }
}
