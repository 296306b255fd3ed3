"""Small office documents, as their programs write them."""

import io
import zipfile

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def archive(**parts):
    """A zip archive; in names of parts two underscores stand for a slash, and one for a period."""
    return zipped({name.replace("__", "/").replace("_", "."): content for name, content in parts.items()})


def zipped(parts):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return sink.getvalue()


def docx(*paragraphs):
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    return archive(
        word__document_xml=f'<?xml version="1.0"?><w:document {_WORD}><w:body>{body}</w:body></w:document>'
    )


def odt(*paragraphs):
    body = "".join(f"<text:p>{text}</text:p>" for text in paragraphs)
    content = f'<office:document-content xmlns:office="o" xmlns:text="t">{body}</office:document-content>'
    return archive(content_xml=content)


def pdf(text):
    """A PDF file of one page, written by hand."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode("latin-1")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % len(data)
    return data + b"xref\n0 5\n0000000000 65535 f \n" + table + end


def xlsx(header, *rows):
    """A workbook, written by openpyxl."""
    import openpyxl

    book = openpyxl.Workbook()
    for row in (header, *rows):
        book.active.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def rtf(text):
    return b"{\\rtf1\\ansi\\deff0 {\\fonttbl{\\f0 Times;}}\\f0 %s\\par}" % text.encode("ascii")
